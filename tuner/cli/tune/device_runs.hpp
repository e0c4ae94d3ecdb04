// Which runs on which devices a decision rests on.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/run.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {

/// A run on one of its devices.
struct MeasuredOn {
  Run run;
  std::string device_uuid;
};

/// Runs whose rows are decided together: of one device, or of several boards of one model.
struct DeviceRuns {
  Device device;  // of the newest run
  std::vector<MeasuredOn> runs;

  const Run& newest() const { return runs.front().run; }
  std::set<std::string> boards() const {
    std::set<std::string> uuids;
    for (const MeasuredOn& one : runs) uuids.insert(one.device_uuid);
    return uuids;
  }
};

/// The runs `ids`, else all of each device under the conditions of its newest one; of `executor`,
/// where one is given, and of the device `device_id` alone, where one is. Throws InputError where
/// the database has no such run.
std::vector<DeviceRuns> runs_of(const store::Store& db, const std::vector<std::string>& ids,
                                const std::optional<std::string>& device_id,
                                const std::optional<std::string>& executor = std::nullopt);
/// Thresholds belong to a model of device: boards of one model are decided together where nothing
/// that is validated differs; of others the newest run decides, and the rest is named in
/// `left_out`.
std::vector<DeviceRuns> join_models(std::vector<DeviceRuns> all,
                                    std::vector<std::string>& left_out);
/// Whose rows there are in the runs `ids`, else in all, on the devices that count.
std::vector<std::string> executors_of(const store::Store& db, const std::vector<std::string>& ids,
                                      const std::optional<std::string>& device_id);

}  // namespace nsa::cli
