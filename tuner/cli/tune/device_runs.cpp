#include "device_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "nsa/kernels/routing.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cli {
namespace {

void add_run_of(std::vector<DeviceRuns>& all, const Run& run,
                const std::optional<std::string>& id) {
  for (const Device& device : run.devices) {
    if (id && device.id != *id) continue;
    auto found = std::find_if(all.begin(), all.end(),
                              [&](const DeviceRuns& d) { return d.device.uuid == device.uuid; });
    if (found == all.end()) {
      all.push_back({device, {}});
      found = all.end() - 1;
    }
    found->runs.push_back({run, device.uuid});
  }
}

/// Whether times of both runs may be told together: nothing that is validated has changed.
bool same_conditions(const Device& a, const Device& b) {
  return std::ranges::none_of(check_validators(validators_of(a), validators_of(b)),
                              [](const ValidatorCheck& c) { return c.holds == Holds::no; });
}

/// Leaves out devices on which none of their runs has a row of that executor: a run with a worker
/// of the user's beside ours may have two devices.
void keep_devices_of(std::vector<DeviceRuns>& all, const store::Store& db,
                     const std::string& executor) {
  std::erase_if(all, [&](const DeviceRuns& d) {
    return std::none_of(d.runs.begin(), d.runs.end(), [&](const MeasuredOn& on) {
      const store::Query rows{
          .run_id = on.run.id, .device_uuid = on.device_uuid, .executor = executor};
      return !db.executors(rows).empty();
    });
  });
}

}  // namespace

std::vector<DeviceRuns> runs_of(const store::Store& db, const std::vector<std::string>& ids,
                                const std::optional<std::string>& device_id,
                                const std::optional<std::string>& executor) {
  std::vector<DeviceRuns> all;
  for (const std::string& id : ids) {
    const std::optional<Run> run = db.find_run(id);
    if (!run)
      throw InputError("--run: no run " + id + " in the database; nsatune db info lists them");
    add_run_of(all, *run, device_id);
  }
  if (!ids.empty()) {
    if (executor) keep_devices_of(all, db, *executor);
    return all;
  }
  for (const Run& run : db.runs()) {  // the newest first
    for (const Device& device : run.devices) {
      if (device_id && device.id != *device_id) continue;
      const auto known =
          std::ranges::find(all, device.uuid, [](const DeviceRuns& d) { return d.device.uuid; });
      if (known == all.end()) {
        if (db.newest_run(device.uuid, executor)) all.push_back({device, {{run, device.uuid}}});
      } else if (same_conditions(known->device, device)) {
        known->runs.push_back({run, device.uuid});
        if (!known->device.multiprocessors && device.multiprocessors)
          known->device = device;  // a run that was imported knows no more of it than its name
      }
    }
  }
  return all;
}

std::vector<DeviceRuns> join_models(std::vector<DeviceRuns> all,
                                    std::vector<std::string>& left_out) {
  const auto started = [](const DeviceRuns& d) { return d.newest().started_at; };
  std::ranges::stable_sort(all, std::ranges::greater{}, started);
  std::vector<DeviceRuns> kept;
  for (DeviceRuns& d : all) {
    const auto newer = std::find_if(kept.begin(), kept.end(), [&](const DeviceRuns& k) {
      return device_file_name(k.device) == device_file_name(d.device);
    });
    if (newer == kept.end()) {
      kept.push_back(std::move(d));
    } else if (same_conditions(newer->device, d.device)) {
      std::ranges::move(d.runs, std::back_inserter(newer->runs));
    } else {
      left_out.push_back(
          fmt::format("{} {}: under other conditions than another board's run {}, which is newer; "
                      "--run {} takes this one",
                      d.device.name, d.device.uuid, newer->newest().id, d.newest().id));
    }
  }
  for (DeviceRuns& d : kept) {
    std::ranges::stable_sort(d.runs, std::ranges::greater{},
                             [](const MeasuredOn& on) { return on.run.started_at; });
  }
  return kept;
}

std::vector<std::string> executors_of(const store::Store& db, const std::vector<std::string>& ids,
                                      const std::optional<std::string>& device_id) {
  if (ids.empty() && !device_id) return db.executors({});
  std::set<std::string> names;
  for (const DeviceRuns& d : runs_of(db, ids, device_id)) {
    for (const MeasuredOn& on : d.runs) {
      for (std::string& name : db.executors({.run_id = on.run.id, .device_uuid = on.device_uuid}))
        names.insert(std::move(name));
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace nsa::cli
