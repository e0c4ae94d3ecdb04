#include "routing/env/policy.hpp"

#include "nsa/kernels/routing.hpp"
#include "routing/env/rules.hpp"

namespace nsa::routing {
namespace {

/// 1 takes the row, 0 rules it and its like out.
void on_off_rules(RuleBuilder& build, std::string_view name, SwitchTarget target) {
  if (build.on(name)) build.pick(build.taking({target}, build.cause({name})));
  if (build.off(name)) build.veto(build.stage().set_of({target}), build.cause({name}));
}

void range_rules(RuleBuilder& build) {
  if (const auto v2 = build.flag("NSA_SEL_RANGES_V2")) {
    build.pick(build.taking({*v2 ? SwitchTarget::ranges_v2 : SwitchTarget::ranges_v1},
                            build.cause({"NSA_SEL_RANGES_V2"})));
    return;
  }
  const auto min_s = build.number("NSA_SEL_RANGES_V2_MIN_S");
  if (!min_s) return;
  EnvRule below = build.taking({SwitchTarget::ranges_v1}, build.cause({"NSA_SEL_RANGES_V2_MIN_S"}));
  below.to = *min_s;
  EnvRule above = build.taking({SwitchTarget::ranges_v2}, build.cause({"NSA_SEL_RANGES_V2_MIN_S"}));
  above.from = *min_s;
  build.pick(std::move(below));
  build.pick(std::move(above));
}

/// NSA_PREFILL_TILE before NSA_PREFILL_BATCHED; a decode step has no prefill.
void prefill_rules(RuleBuilder& build) {
  EnvRule rule;
  if (build.number("NSA_PREFILL_TILE").value_or(0) > 0) {
    rule = build.taking({SwitchTarget::sequential}, build.cause({"NSA_PREFILL_TILE"}));
  } else if (const auto batched = build.flag("NSA_PREFILL_BATCHED")) {
    rule = build.taking({*batched ? SwitchTarget::batched : SwitchTarget::sequential},
                        build.cause({"NSA_PREFILL_BATCHED"}));
  } else {
    return;
  }
  rule.phases = kPrefillPhases;
  build.pick(std::move(rule));
}

}  // namespace

std::string RuleBuilder::cause(std::initializer_list<std::string_view> names) const {
  std::string text;
  for (const std::string_view name : names) {
    const std::string* value = environment_.raw(name);
    if (!value) continue;
    if (!text.empty()) text += ", ";
    text += std::string(name) + "=" + *value;
  }
  return text;
}

EnvRule RuleBuilder::taking(std::initializer_list<SwitchTarget> targets, std::string why) const {
  EnvRule rule;
  rule.target = stage_.find_any(targets);
  if (rule.target == kNoRow) {
    rule.missing =
        std::string(to_string(*targets.begin())) + ": unknown to this build (" + why + ")";
  }
  rule.cause = std::move(why);
  return rule;
}

void RuleBuilder::pick(EnvRule rule) {
  const auto first = std::ranges::find(policy_.picks, rule.cause, &EnvRule::cause);
  rule.wish = static_cast<std::size_t>(first - policy_.picks.begin());
  policy_.picks.push_back(std::move(rule));
}

void RuleBuilder::veto(RowSet rows, std::string why, EnvRule rule) {
  if (rows == 0) return;
  rule.rows = rows;
  rule.cause = std::move(why);
  policy_.vetoes.push_back(std::move(rule));
}

void RuleBuilder::swap(RowSet rows, EnvRule rule) {
  if (rows == 0 || rule.target == kNoRow) return;
  rule.rows = rows;
  policy_.swaps.push_back(std::move(rule));
}

StagePolicy make_policy(const StageRows& rows, const EnvSnapshot& environment) {
  StagePolicy policy;
  if (environment.values.empty() || rows.stages.size() != 1) return policy;
  RuleBuilder build(rows, environment, policy);
  switch (rows.stage()) {
    case Stage::attend_selected:
      selection_rules(build);
      break;
    case Stage::attend_window:
    case Stage::attend_compressed:
      fa2_rules(build);
      break;
    case Stage::ranges:
      range_rules(build);
      break;
    case Stage::score:
      on_off_rules(build, "NSA_P_CMP_MIXED", SwitchTarget::p_cmp_mixed);
      on_off_rules(build, "NSA_P_SLC_MIXED", SwitchTarget::p_slc_mixed);
      break;
    case Stage::gate_combine:
      on_off_rules(build, "NSA_GATE_COMPILE", SwitchTarget::gate_fused);
      break;
    case Stage::attention:
    case Stage::layer:
    case Stage::model:
      prefill_rules(build);
      break;
    default:
      break;
  }
  return policy;
}

}  // namespace nsa::routing
