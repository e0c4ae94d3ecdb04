#include "routing_inputs.hpp"

#include <algorithm>

namespace nsa::cli {

EnvSnapshot with_switches(const Settings& settings, EnvSnapshot environment,
                          const std::vector<tuner::ConfigSwitch>& switches) {
  for (const tuner::ConfigSwitch& s : switches) {
    if (const std::string* set = environment.raw(s.name)) {
      say(settings, "note: " + s.origin + ": " + s.name + "=" + *set + " of the environment wins");
      continue;
    }
    say(settings, "note: " + s.origin + ": as " + s.name + "=" + s.value);
    environment.values.emplace_back(s.name, s.value);
    std::ranges::sort(environment.values);
  }
  return environment;
}

reports::ConfigOrigins origins_of(const EnvSnapshot& environment,
                                  const std::vector<tuner::ConfigSwitch>& switches) {
  reports::ConfigOrigins origins;
  for (const tuner::ConfigSwitch& s : switches) {
    if (!environment.raw(s.name)) origins[s.name] = s.origin.substr(0, s.origin.rfind(": "));
  }
  return origins;
}

Router make_router(const Settings& settings, Router::Inputs inputs) {
  if (!inputs.environment.refused.empty())
    throw InputError(inputs.environment.refused.front() + "; correct or unset it");
  Router router(std::move(inputs));
  for (const std::string& warning : router.warnings()) say(settings, "warning: " + warning);
  return router;
}

Router make_router(const Settings& settings, const Device& device,
                   const std::optional<std::string>& file, bool built_in_only,
                   EnvSnapshot environment, ApiOverrides api) {
  Router::Inputs inputs;
  inputs.device = device;
  inputs.environment = std::move(environment);
  inputs.api = std::move(api);
  if (!built_in_only) {
    if (auto found = find_thresholds(file, device)) {
      inputs.table = std::move(found->table);
      inputs.table_path = std::move(found->path);
    }
    if (auto shipped = shipped_thresholds(device)) {
      inputs.shipped = std::move(shipped->table);
      inputs.shipped_path = std::move(shipped->path);
    }
  }
  return make_router(settings, std::move(inputs));
}

}  // namespace nsa::cli
