#include "by_flat_view.hpp"

#include <algorithm>

namespace nsa::tuner {
namespace {

using enum SwitchTarget;

/// A path, from a minimum on; `named` is the value that says so.
struct Wish {
  SwitchTarget path = none;
  FlatValue minimum = FlatValue::always();
  std::string named;
};

std::string words_for(const char* name, const FlatValue& value) {
  return std::string(name) + " = " + to_string(value);
}

bool is(const FlatValue& value, FlatValue::Kind kind) { return value.kind == kind; }
bool says(const FlatValue& value) { return !is(value, FlatValue::Kind::not_measured); }
bool on(const FlatValue& value) { return says(value) && !is(value, FlatValue::Kind::never); }

/// A switch between two paths of a stage.
std::optional<Wish> either(const char* name, const FlatValue& value, SwitchTarget switched_on,
                           SwitchTarget off) {
  if (!says(value)) return std::nullopt;
  return Wish{on(value) ? switched_on : off, on(value) ? value : FlatValue::always(),
              words_for(name, value)};
}

/// The first switch that is on decides, as in the program.
std::optional<Wish> selected(const FlatView& flat, SwitchTarget varlen) {
  if (on(flat.force_sel_mask))
    return Wish{masked, FlatValue::always(), words_for("force_sel_mask", flat.force_sel_mask)};
  if (on(flat.sel_triton_min_l))
    return Wish{triton, flat.sel_triton_min_l,
                words_for("sel_triton_min_l", flat.sel_triton_min_l)};
  if (on(flat.use_sel_varlen))
    return Wish{varlen, on(flat.sel_varlen_min_l) ? flat.sel_varlen_min_l : FlatValue::always(),
                words_for("sel_varlen_min_l", flat.sel_varlen_min_l)};
  if (on(flat.use_sel_pack))
    return Wish{packed, FlatValue::always(), words_for("use_sel_pack", flat.use_sel_pack)};
  return std::nullopt;
}

/// The one of two paths of a stage that the ranges name first, winners before runners-up.
std::optional<SwitchTarget> named_in(const Project& project, const Decision* decision,
                                     SwitchTarget a, SwitchTarget b,
                                     const std::vector<VariantTraits>& variants) {
  if (!decision) return std::nullopt;
  std::vector<VariantId> ids;
  for (const ThresholdRange& range : decision->ranges) ids.push_back(range.variant);
  for (const ThresholdRange& range : decision->ranges) {
    if (range.evidence.runner_up) ids.push_back(parse_variant_id(*range.evidence.runner_up));
  }
  for (const VariantId& id : ids) {
    const ProjectPath* path = path_of(project, id, named_path(id, variants));
    if (path && (path->path == a || path->path == b)) return path->path;
  }
  return std::nullopt;
}

std::optional<Wish> wish_of(const Project& project, const ClassDecisions& of, Stage stage,
                            const Decision* decision, const std::vector<VariantTraits>& variants) {
  const FlatView& flat = of.flat;
  const auto fa2 = [&](const char* name, const FlatValue& value) {
    const bool decode = of.problem_class.phase == Phase::decode;
    const auto named = named_in(project, decision, fa2_varlen, fa2_dense, variants);
    return either(name, value, decode ? fa2_dense : named.value_or(none), sdpa);
  };
  switch (stage) {
    case Stage::ranges:
      return either("sel_ranges_v2_min_s", flat.sel_ranges_v2_min_s, ranges_v2, ranges_v1);
    case Stage::score:
      return either("p_cmp_mixed", flat.p_cmp_mixed, p_cmp_mixed, none);
    case Stage::gate_combine:
      return either("gate_compile", flat.gate_compile, gate_fused, none);
    case Stage::attention:
      if (!decision)
        return std::nullopt;  // settings of other stages ask for a batched prefill, too
      return either("prefill_batched", flat.prefill_batched, batched, sequential);
    case Stage::attend_window:
      return fa2("fa2_min_len_win", flat.fa2_min_len_win);
    case Stage::attend_compressed:
      return fa2("fa2_min_len_cmp", flat.fa2_min_len_cmp);
    case Stage::attend_selected:
      return selected(
          flat, named_in(project, decision, varlen_v1, varlen_v2, variants).value_or(varlen_v2));
    default:
      return std::nullopt;
  }
}

/// Why the project cannot take one of a stage's paths for such problems, or "". Where rows of ours
/// stood in for them, nothing was to be chosen there then; what it measured itself it has compared,
/// and `only` the path itself may be out of reach.
std::string_view refusal(const Project& project, const ProjectStage& stage, const ProblemClass& of,
                         const Device& device, std::optional<SwitchTarget> only) {
  for (const ProjectPath& path : stage.paths) {
    if (!in_phase(path.phases, of.phase) || project.takes_all) continue;
    if (only && path.path != *only) continue;
    if (const std::string_view why = path.refuses(of, device); !why.empty()) return why;
  }
  return "";
}

const Decision* decision_of(const ClassDecisions& of, Stage stage) {
  const auto found = std::ranges::find_if(of.decisions, [&](const Decision& decision) {
    return decision.stages.size() == 1 && decision.stages.front() == to_string(stage);
  });
  return found == of.decisions.end() ? nullptr : &*found;
}

bool says_nothing(const FlatView& flat) {
  FlatView silent;
  silent.varlen_reserve_n = flat.varlen_reserve_n;
  silent.varlen_reserve_k = flat.varlen_reserve_k;
  silent.sel_pack_reserve_n = flat.sel_pack_reserve_n;
  silent.sel_pack_reserve_l = flat.sel_pack_reserve_l;
  return flat == silent;
}

Candidates settled(const ProjectStage& stage, const Wish& wish, const ClassDecisions& of,
                   const Decision* told, std::vector<PathRange> ranges) {
  const auto sets = [&](const ProjectSetting& setting) {
    const bool has_minimum = setting.compared != Compared::nothing;
    return setting.path == wish.path && in_phase(setting.phases, of.problem_class.phase) &&
           (has_minimum || !wish.minimum.length());
  };
  const auto setting = std::ranges::find_if(stage.settings, sets);
  if (setting == stage.settings.end())
    return {{}, "the file's flat view says " + wish.named + ", which is no setting of it alone"};
  SettledStage result;
  result.stage = stage.stage;
  result.axis = told ? told->axis : axis_of(stage.stage, of.problem_class.phase);
  result.setting = &*setting;
  result.minimum = wish.minimum;
  result.told = "the file's flat view, decided from its rows, says " + wish.named;
  // Which of its values are lossy it does not say; ranges of other paths do.
  const bool others = std::ranges::any_of(ranges, [&](const PathRange& range) {
    return !range.undecided() && range.path != result.path_at(range.from, of.problem_class);
  });
  result.exact = !(of.flat.lossy && others);
  result.loss_known = result.exact;
  std::erase_if(ranges, &PathRange::undecided);
  if (!others) result.decided = std::move(ranges);
  return {{std::move(result)}, ""};
}

}  // namespace

Known by_flat_view(const Project& project, const ClassDecisions& of, const ClassDecisions& told,
                   const std::vector<VariantTraits>& variants, const Device& device,
                   bool stand_ins) {
  Known known;
  if (says_nothing(of.flat)) return known;
  for (const ProjectStage& stage : project.stages) {
    Candidates& found = known[stage.stage];
    const Decision* decision = decision_of(told, stage.stage);
    const auto wish = wish_of(project, of, stage.stage, decision_of(of, stage.stage), variants);
    const auto only = stand_ins || !wish ? std::nullopt : std::optional(wish->path);
    found.open = refusal(project, stage, of.problem_class, device, only);
    if (!found.open.empty()) continue;
    found.open = "the file's flat view leaves it as it is";
    if (!wish) continue;
    std::vector<PathRange> ranges;
    if (decision) ranges = path_ranges(project, *decision, of.problem_class, variants);
    found = settled(stage, *wish, of, decision, std::move(ranges));
  }
  return known;
}

}  // namespace nsa::tuner
