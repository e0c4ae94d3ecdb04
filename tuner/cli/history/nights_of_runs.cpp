#include "nights_of_runs.hpp"

#include <fmt/format.h>

#include <set>
#include <tuple>

#include "nsa/schemas/json.hpp"
#include "run/record.hpp"

namespace nsa::cli {
namespace {

using Notes = std::vector<std::string>;

/// Models of which two boards were measured on one day: each board of them has its own history.
std::set<std::string> parallel_models(const std::vector<Run>& runs) {
  std::map<std::pair<std::string, std::string>, std::string> board_of_day;
  std::set<std::string> models;
  for (const Run& run : runs) {
    for (const Device& device : run.devices) {
      const auto [at, is_first] = board_of_day.try_emplace({device.name, day_of(run)}, device.uuid);
      if (!is_first && at->second != device.uuid) models.insert(device.name);
    }
  }
  return models;
}

void add_run(NightsByDay& nights, const Run& run, const Device& device, Notes& notes) {
  NightOfRuns night{device.uuid, fingerprint(run, device), run.build_id, {run.id}};
  const auto [at, is_first] = nights.try_emplace(day_of(run), night);
  if (is_first) return;
  NightOfRuns& there = at->second;
  const auto conditions = [](const NightOfRuns& n) {
    return std::tie(n.device_uuid, n.environment, n.build_id);
  };
  if (conditions(there) == conditions(night)) {
    there.runs.push_back(run.id);
    return;
  }
  for (const std::string& id : there.runs)
    notes.push_back(
        fmt::format("run {} is left out: later on {} there is a run of another build "
                    "or environment",
                    id, at->first));
  there = std::move(night);
}

}  // namespace

bool is_of_history(const Run& run) {
  return !is_run_record(run) && run.spec_json.find("\"verifies\"") == run.spec_json.npos;
}

std::vector<EnvironmentFact> epoch_facts(const Run& run, const Device& device) {
  const std::string own = "device." + device.id + ".";
  std::vector<EnvironmentFact> facts;
  for (const EnvironmentFact& fact : run.environment.facts) {
    const bool of_another = fact.key.starts_with("device.") && !fact.key.starts_with(own);
    if (!fact.epoch || of_another) continue;
    facts.push_back(fact);
    // The id is a number that another order of the boards changes.
    if (fact.key.starts_with(own)) facts.back().key = fact.key.substr(own.size());
  }
  return facts;
}

std::string fingerprint(const Run& run, const Device& device) {
  std::string text;
  for (const EnvironmentFact& fact : epoch_facts(run, device))
    text += fact.key + "=" + fact.value + "\n";
  return hash_hex(text);
}

std::string day_of(const Run& run) { return run.started_at.substr(0, 10); }

std::map<std::string, NightsByDay> nights_by_device(const std::vector<Run>& runs,
                                                    const std::optional<std::string>& device_id,
                                                    Notes& notes) {
  const std::set<std::string> parallel = parallel_models(runs);
  std::map<std::string, NightsByDay> nights;
  for (const Run& run : runs) {
    for (const Device& device : run.devices) {
      if (device_id && device.id != *device_id) continue;
      const std::string board = parallel.contains(device.name) ? " " + device.uuid : "";
      add_run(nights[device.name + board], run, device, notes);
    }
  }
  return nights;
}

}  // namespace nsa::cli
