#include "explanations.hpp"

namespace nsa::routing {
namespace {

/// All that the environment can change about one problem.
struct Consequences {
  std::array<Decided, kStageCount> decisions;
  Reserves reserves;
  AttentionOptions options;
};

struct WhatIf {
  EnvSnapshot environment;
  AllPolicies policies;
  Consequences consequences;
};

/// Decides again with `environment` in the place of the router's own.
void consider(WhatIf& what_if, const RouterState& state, const Problem& problem) {
  what_if.policies = make_policies(state.rows, what_if.environment);
  what_if.consequences.decisions = decide_all(state, problem, &what_if.policies);
  what_if.consequences.reserves = reserves_of(state, problem, what_if.environment);
  what_if.consequences.options = options_from(what_if.environment);
}

bool same_options(const AttentionOptions& a, const AttentionOptions& b) {
  return a.rope_scale == b.rope_scale && a.uniform_gate == b.uniform_gate &&
         a.force_branch == b.force_branch;
}

std::string name_of(const Choice& choice) {
  if (!choice.variant) return "nothing";
  const std::string name(choice.variant->name);
  return choice.variant->stages.size() > 1 ? stages_text(choice.variant->stages) + "/" + name
                                           : name;
}

void append(std::string& to, const std::string& part) { to += (to.empty() ? "" : ", ") + part; }

/// "attend_selected: fused_query -> masked", or "" where nothing differs.
std::string difference(const Consequences& without, const Consequences& with) {
  std::string changes;
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const Choice &a = without.decisions[i].choice, &b = with.decisions[i].choice;
    if (a.variant == b.variant) continue;
    append(changes,
           std::string(to_string(static_cast<Stage>(i))) + ": " + name_of(a) + " -> " + name_of(b));
  }
  if (!(without.reserves == with.reserves)) append(changes, "reserves");
  if (!same_options(without.options, with.options)) append(changes, "constants");
  return changes;
}

bool decides_a_stage(const Consequences& with, const std::string& name, const std::string& value) {
  const std::string cause = name + "=" + value;
  for (const Decided& decided : with.decisions) {
    if (!decided.rule) continue;
    // Causes are lists: "A=1, B=16".
    const std::string listed = ", " + decided.rule->cause + ",";
    if (listed.find(", " + cause + ",") != std::string::npos) return true;
  }
  return false;
}

/// Why a wish for a stage was not met, if it was this name's.
std::string unmet(const Consequences& with, const std::string& name) {
  for (const Decided& decided : with.decisions) {
    const char* reason = decided.choice.fallback_reason;
    if (reason && std::string(reason).find(name) != std::string::npos) return reason;
  }
  return "";
}

EnvSnapshot only(const std::pair<std::string, std::string>& value) {
  EnvSnapshot snapshot;
  snapshot.values.push_back(value);
  return snapshot;
}

/// Decisions, reserves and options with, without and with nothing but one name.
NameEffect effect_of(const RouterState& state, const Problem& problem, const WhatIf& all,
                     const WhatIf& none, std::size_t index) {
  const auto& [name, value] = all.environment.values[index];
  NameEffect effect{name, value, false, ""};
  const EnvName* entry = find_env_name(name);
  if (!entry || entry->scope != EnvScope::runtime) {
    effect.reason = "no effect: " + std::string(entry ? entry->effect : "unknown name");
    return effect;
  }
  WhatIf without{all.environment, {}, {}};
  without.environment.values.erase(without.environment.values.begin() +
                                   static_cast<std::ptrdiff_t>(index));
  consider(without, state, problem);
  const std::string changes = difference(without.consequences, all.consequences);
  effect.effective = !changes.empty() || decides_a_stage(all.consequences, name, value);
  if (effect.effective) {
    effect.reason =
        changes.empty() ? "decides; without it the same would run" : "changes " + changes;
    return effect;
  }
  WhatIf alone{only(all.environment.values[index]), {}, {}};
  consider(alone, state, problem);
  const std::string reason = unmet(all.consequences, name);
  if (!reason.empty()) {
    effect.reason = "no effect: " + reason;
  } else if (!difference(none.consequences, alone.consequences).empty()) {
    effect.reason = "no effect: a stronger wish decides first";
  } else {
    effect.reason = "no effect on this problem (" + std::string(entry->effect) + ")";
  }
  return effect;
}

}  // namespace

std::vector<NameEffect> name_effects(const RouterState& state, const Problem& problem) {
  WhatIf all{state.inputs.environment, {}, {}}, none;
  consider(all, state, problem);
  consider(none, state, problem);
  std::vector<NameEffect> effects;
  for (std::size_t i = 0; i < all.environment.values.size(); ++i) {
    effects.push_back(effect_of(state, problem, all, none, i));
  }
  return effects;
}

}  // namespace nsa::routing
