// Which runs of the results database are one night.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nsa/schemas/run.hpp"

namespace nsa::cli {

/// The runs of one day on one device, all of the same build in the same environment.
struct NightOfRuns {
  std::string device_uuid;
  std::string environment;  // hash of the facts that begin an epoch for this device
  std::string build_id;
  std::vector<std::string> runs;  // ids
};
using NightsByDay = std::map<std::string, NightOfRuns>;

/// Whether it is a sweep of a spec. verify measures a part of a file once more, at places of its
/// own; run measures no variants.
bool is_of_history(const Run& run);

/// The facts that begin an epoch for a device: its own, without its id in their names, and those
/// that are of no device.
std::vector<EnvironmentFact> epoch_facts(const Run& run, const Device& device);
/// Their hash: NightOfRuns::environment.
std::string fingerprint(const Run& run, const Device& device);

/// The UTC day on which it began: "2026-11-23".
std::string day_of(const Run& run);
/// Nights of each model of device, or of each board where two of a model were measured on one day.
/// A run of another build, environment or board on the same day replaces those before it, and a
/// note says so: medians of both would be of neither.
/// @param runs  the oldest first
/// @param device_id  "cuda:0": only of this one
std::map<std::string, NightsByDay> nights_by_device(const std::vector<Run>& runs,
                                                    const std::optional<std::string>& device_id,
                                                    std::vector<std::string>& notes);

}  // namespace nsa::cli
