// A small table of variants that run nothing, and tables of thresholds over them.
#pragma once

#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "nsa/kernels/routing.hpp"

namespace nsa::test {

inline constexpr unsigned kFloats = dtype_bit(Dtype::fp32) | dtype_bit(Dtype::bf16);
template <Stage S>
inline constexpr std::array kStage{S};
inline constexpr std::array<std::int64_t, 2> kTiles{32, 64};
inline constexpr std::array kTile{Coordinate{"bq", kTiles}};

/// What compressed attention with the selection of blocks covers.
inline constexpr std::array kBranches{Stage::attend_compressed, Stage::score};

inline void run_nothing(const LaunchArgs&) {}
inline Support short_only(const Problem& p, const Device&) noexcept {
  return p.max_kv_len() <= p.geometry.sel_count * p.geometry.sel_block
             ? Support::yes()
             : Support::no("dense_prefix needs a context of sel_count * sel_block at most");
}
inline Support several_tokens(const Problem& p, const Device&) noexcept {
  return p.phase == Phase::decode ? Support::no("prefill only, whatever you ask of it")
                                  : Support::yes();
}

template <Stage S>
Variant row(std::string_view name, Role role = Role::candidate,
            Support (*supports)(const Problem&, const Device&) noexcept = nullptr,
            std::span<const Coordinate> coordinates = {}) {
  Variant v;
  v.stages = kStage<S>;
  v.name = name;
  v.role = role;
  v.dtypes = kFloats;
  v.coordinates = coordinates;
  v.supports = supports;
  v.launch = run_nothing;
  v.source_hash = "h1";
  // The users' switches call most of these by their names.
  v.switch_target = switch_target_of(name).value_or(SwitchTarget::none);
  return v;
}

/// The row with its place in the built-in order.
inline Variant ranked(int rank, Variant v) {
  v.rank = rank;
  return v;
}
/// A row of score that rounds in between.
inline Variant reduced(std::string_view name, SwitchTarget target) {
  Variant v = row<Stage::score>(name);
  v.precision = Precision::reduced;
  v.switch_target = target;
  return v;
}

/// Names as in the real table, for a CPU.
inline const std::vector<Variant>& fake_rows() {
  static const std::vector<Variant> rows = [] {
    std::vector<Variant> r{
        row<Stage::score>("exact"),
        reduced("p_cmp_bf16", SwitchTarget::p_cmp_mixed),
        reduced("p_slc_bf16", SwitchTarget::p_slc_mixed),
        ranked(1, row<Stage::ranges>("ranges_v1")),
        ranked(0, row<Stage::ranges>("ranges_v2")),
        ranked(2, row<Stage::attend_selected>("masked")),
        row<Stage::attend_selected>("ranges", Role::slow_path),
        ranked(3, row<Stage::attend_selected>("gather")),
        ranked(5, row<Stage::attend_selected>("packed")),
        ranked(6, row<Stage::attend_selected>("varlen_v1")),
        ranked(4, row<Stage::attend_selected>("varlen_v2", Role::candidate, several_tokens)),
        ranked(0, row<Stage::attend_selected>("fused_query", Role::candidate, nullptr, kTile)),
        ranked(7, row<Stage::attend_selected>("dense_prefix", Role::candidate, short_only)),
        ranked(4, row<Stage::attend_window>("sdpa_math")),
        ranked(2, row<Stage::attend_window>("fa2_varlen")),
        ranked(3, row<Stage::attend_window>("fa2_dense")),
        ranked(4, row<Stage::attend_compressed>("sdpa_math")),
        ranked(2, row<Stage::attend_compressed>("fa2_varlen")),
        ranked(3, row<Stage::attend_compressed>("fa2_dense")),
        ranked(0, row<Stage::gate_combine>("gate_fused")),
        row<Stage::gate_combine>("three_steps"),
        ranked(1, row<Stage::attention>("batched")),
        ranked(2, row<Stage::attention>("sequential")),
        row<Stage::attention>("dense", Role::baseline),
    };
    Variant absent = ranked(1, row<Stage::attend_selected>("fused_block"));
    absent.launch = nullptr;  // known, but not in this program
    r.push_back(absent);
    return r;
  }();
  return rows;
}

inline Device cpu(std::string name = "Test CPU", int cores = 8) {
  Device d;
  d.name = std::move(name);
  d.multiprocessors = cores;
  d.isa = "avx2";
  d.memory_bytes = std::int64_t{64} << 30;
  return d;
}

inline Problem prefill(std::int64_t seq_len, std::int64_t batch = 1) {
  Problem p;
  p.seq_lens.assign(static_cast<std::size_t>(batch), seq_len);
  p.context_lens.assign(static_cast<std::size_t>(batch), 0);
  return p;
}

inline Problem decode(std::int64_t context_len) {
  Problem p;
  p.phase = Phase::decode;
  p.seq_lens = {1};
  p.context_lens = {context_len};
  return p;
}

inline VariantId id(std::string_view stage, std::string_view name, Point point = {}) {
  return {{std::string(stage)}, std::string(name), std::move(point)};
}

inline ThresholdRange range(std::int64_t from, std::optional<std::int64_t> to, VariantId variant) {
  ThresholdRange r;
  r.from = from;
  r.to = to;
  r.variant = std::move(variant);
  r.source_hash = "h1";
  return r;
}

inline Decision decision(std::string_view stage, std::vector<ThresholdRange> ranges,
                         Axis axis = Axis::seq_len) {
  Decision d;
  d.stages = {std::string(stage)};
  d.axis = axis;
  d.ranges = std::move(ranges);
  return d;
}

/// A table of one class, that of `problem`.
inline ThresholdTable table(const Device& device, const Problem& problem,
                            std::vector<Decision> decisions) {
  ThresholdTable t;
  t.device = device;
  t.created_by = "test";
  ClassDecisions c;
  c.problem_class = class_of(problem);
  c.decisions = std::move(decisions);
  t.classes.push_back(std::move(c));
  return t;
}

/// One variant of attend_selected at every length.
inline ThresholdTable always(const Device& device, std::string_view name,
                             const Problem& problem = prefill(2048)) {
  return table(device, problem,
               {decision("attend_selected", {range(0, {}, id("attend_selected", name))})});
}

inline EnvSnapshot environment(std::vector<std::string> entries) {
  return snapshot_environment(entries);
}

inline Router::Inputs inputs(std::vector<std::string> entries = {}) {
  Router::Inputs in;
  in.device = cpu();
  in.rows = fake_rows();
  in.environment = environment(std::move(entries));
  return in;
}

inline std::string chosen(const Router& router, Stage stage, const Problem& problem) {
  const Choice c = router.choose(stage, problem);
  return c.variant ? std::string(c.variant->name) : "nothing";
}

/// What attend_selected runs under these variables, without any table.
inline std::string selected(std::vector<std::string> entries, const Problem& problem) {
  return chosen(Router(inputs(std::move(entries))), Stage::attend_selected, problem);
}

}  // namespace nsa::test
