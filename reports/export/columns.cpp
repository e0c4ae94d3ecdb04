#include "columns.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "nsa/schemas/variant_text.hpp"

namespace nsa::reports {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }
std::string text(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }
std::string text(const std::string& value) { return value; }
std::string text(bool value) { return value ? "true" : "false"; }
template <class T>
std::string text(const std::optional<T>& value) {
  return value ? text(*value) : std::string();
}

std::string list(const std::vector<std::int64_t>& values) {
  std::string joined;
  for (const std::int64_t value : values) joined += (joined.empty() ? "" : ";") + text(value);
  return joined;
}

std::string stages_text(const VariantId& id) {
  std::string joined;
  for (const std::string& stage : id.stages) joined += (joined.empty() ? "" : "+") + stage;
  return joined;
}

template <class Enum>
std::string word(Enum value) {
  return std::string(to_string(value));
}

using M = Measurement;
template <std::int64_t ReserveNeed::*field>
std::string need(const M& m) {
  return m.need ? text((*m.need).*field) : std::string();
}

// One line a column: name, meaning, where it comes from.
const Column kAll[] = {
    {{"id", "UUID of the row"}, [](const M& m) { return m.id; }},
    {{"run_id", "UUID of its run"}, [](const M& m) { return m.run_id; }},
    {{"executor", "who ran it"}, [](const M& m) { return m.executor; }},
    {{"host", "first host of the placement"},
     [](const M& m) { return m.placement.empty() ? std::string() : m.placement[0].host; }},
    {{"device_uuid", "first device of the placement"},
     [](const M& m) { return m.placement.empty() ? std::string() : m.placement[0].device_uuid; }},
    {{"direction", "forward or backward"}, [](const M& m) { return word(m.problem.direction); }},
    {{"phase", "prefill, chunked_prefill or decode"},
     [](const M& m) { return word(m.problem.phase); }},
    {{"batch", "sequences"}, [](const M& m) { return text(m.problem.batch()); }},
    {{"seq_lens", "new tokens of each sequence"},
     [](const M& m) { return list(m.problem.seq_lens); }},
    {{"context_lens", "cached tokens of each sequence"},
     [](const M& m) { return list(m.problem.context_lens); }},
    {{"q_heads", "query heads"}, [](const M& m) { return text(m.problem.q_heads); }},
    {{"kv_heads", "key and value heads"}, [](const M& m) { return text(m.problem.kv_heads); }},
    {{"head_dim_k", "width of a key"}, [](const M& m) { return text(m.problem.head_dim_k); }},
    {{"head_dim_v", "width of a value"}, [](const M& m) { return text(m.problem.head_dim_v); }},
    {{"cmp_block", "tokens in a compression block"},
     [](const M& m) { return text(m.problem.geometry.cmp_block); }},
    {{"cmp_stride", "tokens between compression blocks"},
     [](const M& m) { return text(m.problem.geometry.cmp_stride); }},
    {{"sel_block", "tokens in a selection block"},
     [](const M& m) { return text(m.problem.geometry.sel_block); }},
    {{"sel_count", "selected blocks"},
     [](const M& m) { return text(m.problem.geometry.sel_count); }},
    {{"window", "tokens in the sliding window"},
     [](const M& m) { return text(m.problem.geometry.window); }},
    {{"dtype", "storage type"}, [](const M& m) { return word(m.problem.dtype); }},
    {{"pattern", "where selected blocks come from"},
     [](const M& m) { return word(m.problem.selection.pattern); }},
    {{"overlap", "share of blocks that neighbouring queries share"},
     [](const M& m) { return text(m.problem.selection.overlap); }},
    {{"model_dim", "width of x; 0 below a layer"},
     [](const M& m) { return text(m.problem.model.model_dim); }},
    {{"layers", "blocks of a model"}, [](const M& m) { return text(m.problem.model.layers); }},
    {{"stages", "stages of the variant, joined with '+'"},
     [](const M& m) { return stages_text(m.variant); }},
    {{"variant", "name of the implementation"}, [](const M& m) { return m.variant.name; }},
    {{"point", "its coordinates, name=value, joined with '.'"},
     [](const M& m) { return point_text(m.variant.point); }},
    {{"source_hash", "hash of its sources"}, [](const M& m) { return m.source_hash; }},
    {{"process", "which fresh worker process"}, [](const M& m) { return text(m.process); }},
    {{"round", "which randomised round"}, [](const M& m) { return text(m.round); }},
    {{"position", "place in the order of its round"}, [](const M& m) { return text(m.position); }},
    {{"pair_id", "shared by rows that were interleaved"}, [](const M& m) { return m.pair_id; }},
    {{"control", "A/A control of another row"}, [](const M& m) { return text(m.control); }},
    {{"held_out", "measured to judge the decision, never decided upon"},
     [](const M& m) { return text(m.held_out); }},
    {{"launch", "eager or graph"}, [](const M& m) { return word(m.launch); }},
    {{"timer", "events, cupti or host"}, [](const M& m) { return word(m.timer); }},
    {{"cold", "caches flushed before each sample"}, [](const M& m) { return text(m.cold); }},
    {{"outcome", "what became of it"}, [](const M& m) { return word(m.outcome); }},
    {{"reason", "why there is no result, or a wrong one"}, [](const M& m) { return m.reason; }},
    {{"note", "what was observed on the samples of an ok row"}, [](const M& m) { return m.note; }},
    {{"verification", "what the oracle said"}, [](const M& m) { return word(m.verification); }},
    {{"worst_row_error", "relative L2 of the worst row"},
     [](const M& m) { return text(m.worst_row_error); }},
    {{"first_call_ns", "first call, ns"}, [](const M& m) { return text(m.first_call_ns); }},
    {{"workspace_bytes", "workspace, bytes"}, [](const M& m) { return text(m.workspace_bytes); }},
    {{"grow_events", "times the workspace grew"}, [](const M& m) { return text(m.grow_events); }},
    {{"need_varlen_n", "rows that varlen needed"}, need<&ReserveNeed::varlen_n>},
    {{"need_varlen_k", "packed tokens that varlen needed"}, need<&ReserveNeed::varlen_k>},
    {{"need_sel_pack_n", "rows that packed needed"}, need<&ReserveNeed::sel_pack_n>},
    {{"need_sel_pack_l", "tokens per row that packed needed"}, need<&ReserveNeed::sel_pack_l>},
    {{"median_ns", "median of device_ns, ns"}, [](const M& m) { return text(m.median_ns); }},
    {{"mad_ns", "median absolute deviation of device_ns, ns"},
     [](const M& m) { return text(m.mad_ns); }},
    {{"samples_n", "number of samples"}, [](const M& m) { return text(m.samples_n); }},
    {{"flop", "FLOP of the mathematics"}, [](const M& m) { return text(m.cost.flop); }},
    {{"bytes", "compulsory bytes"}, [](const M& m) { return text(m.cost.bytes); }},
    {{"sm_mhz", "SM clock, MHz"}, [](const M& m) { return text(m.clocks.sm_mhz); }},
    {{"memory_mhz", "memory clock, MHz"}, [](const M& m) { return text(m.clocks.memory_mhz); }},
    {{"temperature_c", "temperature, degrees Celsius"},
     [](const M& m) { return text(m.clocks.temperature_c); }},
    {{"power_w", "power, W"}, [](const M& m) { return text(m.clocks.power_w); }},
    {{"throttle", "throttle reasons"}, [](const M& m) { return text(m.clocks.throttle); }},
    {{"measured_at", "ISO 8601, UTC"}, [](const M& m) { return m.measured_at; }},
};

std::string device_name(const Measurement& m, const Run& run) {
  if (m.placement.empty()) return "";
  for (const Device& device : run.devices) {
    if (device.uuid == m.placement[0].device_uuid) return device.name;
  }
  return "";
}

const RunColumn kOfRun[] = {
    {{"device", "model of the first device of the placement"}, device_name},
    {{"run_started_at", "when its run began, ISO 8601, UTC"},
     [](const M&, const Run& run) { return run.started_at; }},
    {{"build_id", "version, git revision and compiler of the build"},
     [](const M&, const Run& run) { return run.build_id; }},
    {{"environment_hash", "equal where nothing that can change a time differs"},
     [](const M&, const Run& run) { return run.environment_hash; }},
};

}  // namespace

std::span<const Column> csv_columns() { return kAll; }
std::span<const RunColumn> csv_run_columns() { return kOfRun; }

}  // namespace nsa::reports
