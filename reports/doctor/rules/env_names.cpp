// Names and values that do nothing, by the table of NSA_* names.
#include "nsa/schemas/env_names.hpp"
#include "rules.hpp"
#include "words.hpp"

namespace nsa::doctor {
namespace {

constexpr const char* kNothing = "what was intended does not happen";

/// What the table says against each NSA_* variable of the environments, by `judge`.
template <class Judge>
Founds each_variable(const RunEvidence& evidence, Judge judge) {
  Founds founds;
  for (const EnvironmentEvidence& env : evidence.environments) {
    for (const auto& [name, setting] : env.variables) {
      if (!name.starts_with("NSA_") || setting.value.empty()) continue;
      if (const std::string message = judge(name, setting.value); !message.empty())
        founds.push_back({message, {fact_of(env, name)}, unknown_gain(kNothing)});
    }
  }
  return founds;
}

EnvSnapshot snapshot_of(const std::string& name, const std::string& value) {
  const std::string entry[] = {name + "=" + value};
  return snapshot_environment(entry);
}

}  // namespace

Founds unknown_name(const RunEvidence& evidence) {
  return each_variable(evidence, [](const std::string& name, const std::string& value) {
    if (find_env_name(name)) return std::string();
    const EnvSnapshot snapshot = snapshot_of(name, value);
    return snapshot.warnings.empty() ? std::string() : clean(snapshot.warnings.front());
  });
}

Founds bad_value(const RunEvidence& evidence) {
  return each_variable(evidence, [](const std::string& name, const std::string& value) {
    if (!find_env_name(name)) return std::string();
    const EnvSnapshot snapshot = snapshot_of(name, value);
    if (!snapshot.refused.empty()) return clean(snapshot.refused.front());
    return snapshot.warnings.empty() ? std::string() : clean(snapshot.warnings.front());
  });
}

Founds unread_name(const RunEvidence& evidence) {
  return each_variable(evidence, [](const std::string& name, const std::string&) {
    const EnvName* entry = find_env_name(name);
    // Documents of the users name it (000:104), and it chooses nothing here.
    if (name == "NSA_DEBUG_FA2")
      return name + ": only nsatune's runtime reads it; the Python module has NSA_FA2_AUDIT";
    if (!entry || !entry->effect.starts_with("no code ever read it")) return std::string();
    return name + ": " + std::string(entry->effect);
  });
}

}  // namespace nsa::doctor
