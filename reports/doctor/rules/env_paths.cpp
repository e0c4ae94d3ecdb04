// Which path of attention the variables choose. A measurement in the results database decides, or
// the measurements behind an emitted file; what the users' reports say counts only without one.
#include <fmt/format.h>

#include "measured.hpp"
#include "rules.hpp"
#include "words.hpp"

namespace nsa::doctor {
namespace {

bool is_fa2(SwitchTarget path) {
  return path == SwitchTarget::fa2_dense || path == SwitchTarget::fa2_varlen;
}
bool is_not_fa2(SwitchTarget path) { return !is_fa2(path); }

/// What the selected branch takes in the users' program when masked is not forced.
SwitchTarget selected_path(const EnvironmentEvidence& env) {
  using enum SwitchTarget;
  if (env.boolean("NSA_USE_SEL_VARLEN").value_or(false))
    return env.boolean("NSA_SEL_VARLEN_V2").value_or(true) ? varlen_v2 : varlen_v1;
  if (env.boolean("NSA_USE_SEL_PACK").value_or(true)) return packed;
  if (env.boolean("NSA_USE_SEL_MASK").value_or(false)) return masked;
  return row_loop;
}

Gain measured_gain(const Verdict& verdict) {
  return {
      .at_most_ratio = verdict.ratio > 1 ? verdict.ratio : 1 / verdict.ratio,
      .basis = "of this stage alone; measurements " + verdict.ids[0] + " and " + verdict.ids[1]};
}

struct BranchVariables {
  const char *variable, *minimum, *stage;
};
constexpr BranchVariables kBranches[] = {
    {"NSA_USE_FA2_WIN", "NSA_FA2_MIN_LEN_WIN", "attend_window"},
    {"NSA_USE_FA2_CMP", "NSA_FA2_MIN_LEN_CMP", "attend_compressed"}};

/// The variable that decides a branch: its own, else the one for both.
std::string_view deciding(const EnvironmentEvidence& env, const BranchVariables& branch) {
  return env.boolean(branch.variable) ? branch.variable : "NSA_USE_FA2";
}

/// Whether the branch's minimum keeps FA-2 off although a switch turns it on.
bool kept_off(const EnvironmentEvidence& env, const BranchVariables& branch) {
  return env.integer(branch.minimum).value_or(1) < 0;
}

}  // namespace

Founds masked_switch_off(const RunEvidence& evidence) {
  Founds founds;
  for (const EnvironmentEvidence& env : evidence.environments) {
    const auto forced = env.boolean("NSA_FORCE_SEL_MASK");
    const bool silent = !env.find("NSA_FORCE_SEL_MASK");
    if (forced.value_or(false) || (silent && !env.launch)) continue;
    const SwitchTarget path = selected_path(env);
    if (path == SwitchTarget::masked) continue;
    const auto verdict =
        compare(evidence, "attend_selected", only(SwitchTarget::masked), only(path));
    if (verdict && verdict->ratio >= 1) continue;
    if (!verdict && env.decided_for("attend_selected", to_string(path))) continue;
    Found found{
        fmt::format("selected attention may take `{}` instead of `masked`", to_string(path)),
        {fact_of(env, "NSA_FORCE_SEL_MASK")},
        unknown_gain("users report 1000 times, from <10 to 9,200 tok/s; not measured "
                     "here")};
    if (verdict) {
      found.message += ", which was " + text_of({1 / verdict->ratio, verdict->where, {}});
      found.gain = measured_gain(*verdict);
    }
    founds.push_back(std::move(found));
  }
  return founds;
}

Founds slow_switches(const RunEvidence& evidence) {
  Founds founds;
  for (const EnvironmentEvidence& env : evidence.environments) {
    if (env.boolean("NSA_FORCE_PARITY").value_or(false))
      founds.push_back({"parity mode switches off the fast paths, masked included",
                        {fact_of(env, "NSA_FORCE_PARITY")},
                        unknown_gain(std::string(kSettingGain))});
    const bool unpacked = env.boolean("NSA_USE_SEL_PACK") == std::optional(false) &&
                          selected_path(env) == SwitchTarget::row_loop &&
                          !env.boolean("NSA_FORCE_SEL_MASK").value_or(false);
    if (unpacked)
      founds.push_back({"with packing off and no other path on, only a host loop over rows is left",
                        {fact_of(env, "NSA_USE_SEL_PACK"), fact_of(env, "NSA_FORCE_SEL_MASK")},
                        unknown_gain(std::string(kSettingGain))});
    if (env.boolean("NSA_DDP_SAFE_MODE").value_or(false))
      founds.push_back(
          {"the safe mode forces parity and 2 MB buckets, and switches every fast path off",
           {fact_of(env, "NSA_DDP_SAFE_MODE")},
           unknown_gain(std::string(kSettingGain))});
  }
  return founds;
}

Founds prefill_not_batched(const RunEvidence& evidence) {
  Founds founds;
  for (const EnvironmentEvidence& env : evidence.environments) {
    if (env.integer("NSA_PREFILL_TILE").value_or(0) > 0) {
      founds.push_back({"prefill runs as decode steps, one token after another",
                        {fact_of(env, "NSA_PREFILL_TILE")},
                        unknown_gain(std::string(kSettingGain))});
      continue;
    }
    const bool silent = !env.find("NSA_PREFILL_BATCHED");
    if (env.boolean("NSA_PREFILL_BATCHED").value_or(false) || (silent && !env.launch)) continue;
    const auto verdict =
        compare(evidence, "attention", only(SwitchTarget::sequential), only(SwitchTarget::batched));
    if (verdict && verdict->ratio <= 1) continue;
    Found found{"prefill runs one token after another",
                {fact_of(env, "NSA_PREFILL_BATCHED")},
                unknown_gain("users report 10-15 % (004:50) and that it hung without "
                             "(002:6); not measured here")};
    if (verdict) {
      found.message += ", which was " + text_of(*verdict);
      found.gain = measured_gain(*verdict);
    }
    founds.push_back(std::move(found));
  }
  return founds;
}

Founds range_converter(const RunEvidence& evidence) {
  Founds founds;
  const auto verdict =
      compare(evidence, "ranges", only(SwitchTarget::ranges_v1), only(SwitchTarget::ranges_v2));
  for (const EnvironmentEvidence& env : evidence.environments) {
    const auto v2 = env.boolean("NSA_SEL_RANGES_V2");
    if (!v2) continue;
    const Fact fact = fact_of(env, "NSA_SEL_RANGES_V2");
    if (verdict) {
      const bool right = *v2 ? verdict->ratio >= 1 : verdict->ratio <= 1;
      const Verdict chosen{*v2 ? 1 / verdict->ratio : verdict->ratio, verdict->where, {}};
      if (!right)
        founds.push_back({"the range converter that this selects was " + text_of(chosen),
                          {fact},
                          measured_gain(*verdict)});
      continue;
    }
    const auto length =
        evidence.configs.empty() ? std::nullopt : evidence.configs.front().integer("train.seq_len");
    if (*v2 || length.value_or(1024) < 1024) continue;  // short: 003:25 and 001:40 contradict
    founds.push_back({"the element loop of the first converter runs at every length",
                      {fact},
                      unknown_gain("users report 18.64 s against 1.58 s at S 2048 (001:45); not "
                                   "measured here")});
  }
  return founds;
}

Founds fa2_against_measurement(const RunEvidence& evidence) {
  Founds founds;
  for (const EnvironmentEvidence& env : evidence.environments) {
    for (const BranchVariables& branch : kBranches) {
      const std::string_view variable = deciding(env, branch);
      const auto on = env.boolean(variable);
      const auto verdict = compare(evidence, branch.stage, is_fa2, is_not_fa2);
      if (!on || !verdict || (*on ? verdict->ratio <= 1 : verdict->ratio >= 1)) continue;
      founds.push_back({fmt::format("FA-2 is {} for {}, but was {}", *on ? "on" : "off",
                                    branch.stage, text_of(*verdict)),
                        {fact_of(env, variable)},
                        measured_gain(*verdict)});
    }
  }
  return founds;
}

Founds fa2_not_measured(const RunEvidence& evidence) {
  Founds founds;
  for (const EnvironmentEvidence& env : evidence.environments) {
    std::vector<Fact> facts;
    std::string stages;
    for (const BranchVariables& branch : kBranches) {
      const std::string_view variable = deciding(env, branch);
      if (!env.boolean(variable).value_or(false)) continue;
      if (compare(evidence, branch.stage, is_fa2, is_not_fa2)) continue;
      if (env.decided_for(branch.stage, "fa2") || kept_off(env, branch)) continue;
      stages += (stages.empty() ? "" : " and ") + std::string(branch.stage);
      if (facts.empty() || facts.back().variable != variable)
        facts.push_back(fact_of(env, variable));
    }
    if (!facts.empty())
      founds.push_back(
          {"FA-2 is on for " + stages + ", but no measurement says that it is faster here",
           std::move(facts),
           unknown_gain("the reports contradict each other: 10-20 times faster "
                        "(000:27), 2.4-3.4 times slower (004:44)")});
  }
  return founds;
}

}  // namespace nsa::doctor
