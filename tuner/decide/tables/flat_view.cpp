#include "flat_view.hpp"

#include <algorithm>

#include "decide/decision.hpp"
#include "emit/settle.hpp"

namespace nsa::tuner {
namespace {

bool measured(const PathTimes& times, Stage stage, std::initializer_list<SwitchTarget> paths) {
  const auto at = times.find(stage);
  if (at == times.end()) return false;
  return std::ranges::any_of(met(at->second), [&](const PathPoint& point) {
    return std::ranges::any_of(paths, [&](SwitchTarget path) { return point.ns.contains(path); });
  });
}

/// From where on one of `paths` runs. A stage that stays open says nothing.
FlatValue length_of(const Settlement& settled, const PathTimes& times, Stage stage,
                    std::initializer_list<SwitchTarget> paths) {
  const SettledStage* found = settled.find(stage);
  if (!found) return {};
  if (std::ranges::find(paths, found->setting->path) != paths.end()) return found->minimum;
  return measured(times, stage, paths) ? FlatValue::never() : FlatValue();
}

/// A switch: what it has to be set to, else "never" where its path was measured and is not taken.
FlatValue switch_of(const Settlement& settled, const PathTimes& times, const char* name,
                    Stage stage, std::initializer_list<SwitchTarget> paths) {
  const auto value = settled.values.find(name);
  if (value != settled.values.end())
    return value->second == "1" ? FlatValue::always() : FlatValue::never();
  const bool known = settled.find(stage) && measured(times, stage, paths);
  return known ? FlatValue::never() : FlatValue();
}

}  // namespace

FlatView flat_view(const ClassDecisions& decided, const DecideInput& input,
                   const PathTimes& times) {
  using enum SwitchTarget;
  const Project& names = users_names();
  const Settlement settled = settle(names, decided, input.variants, times, input.device);
  const auto length = [&](Stage stage, std::initializer_list<SwitchTarget> paths) {
    return length_of(settled, times, stage, paths);
  };
  const auto on_off = [&](const char* name, Stage stage,
                          std::initializer_list<SwitchTarget> paths) {
    return switch_of(settled, times, name, stage, paths);
  };
  constexpr Stage selected = Stage::attend_selected;
  FlatView flat;
  flat.sel_ranges_v2_min_s = length(Stage::ranges, {ranges_v2});
  flat.fa2_min_len_win = length(Stage::attend_window, {fa2_varlen, fa2_dense});
  flat.fa2_min_len_cmp = length(Stage::attend_compressed, {fa2_varlen, fa2_dense});
  flat.sel_varlen_min_l = length(selected, {varlen_v1, varlen_v2});
  flat.sel_triton_min_l = length(selected, {triton});
  flat.force_sel_mask = on_off("NSA_FORCE_SEL_MASK", selected, {masked});
  flat.use_sel_pack = on_off("NSA_USE_SEL_PACK", selected, {packed});
  flat.use_sel_varlen = on_off("NSA_USE_SEL_VARLEN", selected, {varlen_v1, varlen_v2});
  flat.p_cmp_mixed = on_off("NSA_P_CMP_MIXED", Stage::score, {p_cmp_mixed});
  flat.gate_compile = on_off("NSA_GATE_COMPILE", Stage::gate_combine, {gate_fused});
  flat.prefill_batched = on_off("NSA_PREFILL_BATCHED", Stage::attention, {batched});
  flat.lossy = std::ranges::any_of(settled.stages, [](const auto& s) { return !s.exact; });
  return flat;
}

void add_flat_views(const DecideInput& input, ThresholdTable& table) {
  const DecideInput named = only(users_names(), input);
  const ThresholdTable decided = decide_ranges(where_paths_met(users_names(), named)).table;
  const ClassPathTimes times = path_times(users_names(), named);
  for (ClassDecisions& of : table.classes) {
    const auto found =
        std::ranges::find(decided.classes, of.problem_class, &ClassDecisions::problem_class);
    const auto of_class = times.find(to_string(of.problem_class));
    if (found != decided.classes.end() && of_class != times.end())
      of.flat = flat_view(*found, named, of_class->second);
    of.flat.varlen_reserve_n = of.reserves.varlen_reserve_n;
    of.flat.varlen_reserve_k = of.reserves.varlen_reserve_k;
    of.flat.sel_pack_reserve_n = of.reserves.sel_pack_reserve_n;
    of.flat.sel_pack_reserve_l = of.reserves.sel_pack_reserve_l;
  }
}

}  // namespace nsa::tuner
