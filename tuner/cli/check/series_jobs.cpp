#include "series_jobs.hpp"

#include <algorithm>
#include <set>

#include "history/series_name.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::cli {
namespace {

/// Deadline of a request: far beyond what a slower build takes, so that only a hang meets it.
constexpr double kLeastDeadline_s = 60, kDeadlineFactor = 50;

std::uint64_t seed_of(const Run& run) {
  const Json spec = Json::parse(run.spec_json, nullptr, false);
  const bool has = spec.is_object() && spec.contains("seed") && spec["seed"].is_number_unsigned();
  return has ? spec["seed"].get<std::uint64_t>() : 1;
}

SeriesJob job_of(const Measurement& row, const Run& run, const Device& device) {
  SeriesJob found;
  found.job.problem = row.problem;
  found.job.variant = row.variant;
  found.job.launch = row.launch;
  found.job.timer = row.timer;
  found.job.cold = row.cold;
  found.job.samples = std::max<std::int64_t>(1, row.samples_n);
  found.job.seed = seed_of(run);
  const double sample_s = 1e-9 * row.median_ns.value_or(0);
  const double first_s = 1e-9 * static_cast<double>(row.first_call_ns.value_or(0));
  const double visit_s = first_s + sample_s * static_cast<double>(found.job.samples);
  found.job.deadline_s = std::max(kLeastDeadline_s, kDeadlineFactor * visit_s);
  found.executor = row.executor;
  found.device = device;
  found.build_id = run.build_id;
  return found;
}

/// A series is called by its model, and by its board where two of a model were measured on a day.
std::vector<std::string> names_of(const Measurement& row, const Device& device) {
  const std::string name = nightly_series_name(row) + " @ " + device.name;
  return {name, name + " " + device.uuid};
}

void take(const Measurement& row, const Run& run, std::set<std::string>& wanted,
          std::map<std::string, SeriesJob>& jobs) {
  if (row.control || row.held_out || row.outcome != Outcome::ok || row.placement.empty()) return;
  for (const Device& device : run.devices) {
    if (device.uuid != row.placement.front().device_uuid) continue;
    for (const std::string& name : names_of(row, device)) {
      if (wanted.erase(name) > 0) jobs[name] = job_of(row, run, device);
    }
  }
}

}  // namespace

std::map<std::string, SeriesJob> series_jobs(const store::Store& db,
                                             const std::vector<std::string>& names) {
  std::set<std::string> wanted(names.begin(), names.end());
  std::map<std::string, SeriesJob> jobs;
  for (const Run& run : db.runs()) {  // the newest first
    if (wanted.empty()) break;
    db.for_each_measurement({.run_id = run.id},
                            [&](const Measurement& row) { take(row, run, wanted, jobs); });
  }
  return jobs;
}

}  // namespace nsa::cli
