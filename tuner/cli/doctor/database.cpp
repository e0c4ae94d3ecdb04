// What was measured: the rows that may overrule the users' reports.
#include <set>

#include "evidence.hpp"
#include "files/database_wait.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/schemas/executor.hpp"
#include "nsa/store/store.hpp"
#include "program.hpp"

namespace nsa::cli {
namespace {

std::string joined(const std::vector<std::string>& stages) {
  std::string text;
  for (const std::string& stage : stages) text += (text.empty() ? "" : "+") + stage;
  return text;
}

std::string device_of(const Measurement& row) {
  return row.placement.empty() ? std::string() : row.placement.front().device_uuid;
}

/// What the users' switches call the variant: the table says it of ours, the name of others.
SwitchTarget path_of(const Measurement& row) {
  if (row.executor == kOwnExecutor) {
    for (const Backend backend : {Backend::cpu, Backend::cuda}) {
      if (const Variant* ours = find_variant(row.variant, backend, row.problem.direction))
        return ours->switch_target;
    }
  }
  return switch_target_of(row.variant.name).value_or(SwitchTarget::none);
}

std::string name_of(const Run& run, const std::string& device_uuid) {
  for (const Device& device : run.devices)
    if (device.uuid == device_uuid) return device.name;
  return {};
}

doctor::Measured measured_of(const Measurement& row, const Run& run) {
  return {.id = row.id,
          .stages = joined(row.variant.stages),
          .variant = row.variant.name,
          .executor = row.executor,
          .device = device_of(row),
          .problem = row.problem,
          .median_ns = *row.median_ns,
          .path = path_of(row),
          .device_name = name_of(run, device_of(row))};
}

}  // namespace

std::vector<doctor::Measured> read_measured(const Settings& settings, const std::string& path) {
  const store::Store store = store::Store::open_existing(path, wait_aloud(settings, path));
  std::vector<doctor::Measured> rows;
  std::set<std::string> seen;  // devices that a newer run covers
  for (const Run& run : store.runs()) {
    std::set<std::string> here;
    for (const Measurement& row : store.measurements({.run_id = run.id})) {
      const std::string device = device_of(row);
      if (seen.contains(device)) continue;
      here.insert(device);
      const bool counts = row.outcome == Outcome::ok && !row.control && row.median_ns &&
                          row.verification == Verification::verified;
      if (counts) rows.push_back(measured_of(row, run));
    }
    seen.merge(here);
  }
  return rows;
}

}  // namespace nsa::cli
