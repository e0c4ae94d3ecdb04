#include "tables.hpp"

#include "history/nights_of_runs.hpp"

namespace nsa::cli {

Json environments_json(const store::Store& db, const std::optional<std::string>& device_id) {
  Json all = Json::object();
  for (const Run& run : db.runs()) {
    if (!is_of_history(run)) continue;
    for (const Device& device : run.devices) {
      if (device_id && device.id != *device_id) continue;
      Json& facts = all[fingerprint(run, device)];
      if (!facts.is_null()) continue;
      facts = Json::object();
      for (const EnvironmentFact& fact : epoch_facts(run, device)) facts[fact.key] = fact.value;
    }
  }
  return all;
}

}  // namespace nsa::cli
