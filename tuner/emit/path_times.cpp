// How long each path of a project took: what a setting loses is counted with these.
#include <algorithm>
#include <tuple>

#include "nsa/schemas/median.hpp"
#include "path_ranges.hpp"

namespace nsa::tuner {
namespace {

std::optional<double> time_of(const Measurement& row) {
  std::vector<double> ns;
  for (const Sample& sample : row.samples) ns.push_back(static_cast<double>(sample.device_ns));
  if (!ns.empty()) return median(std::move(ns));
  return row.median_ns;
}

bool counts(const Measurement& row, const DecideOptions& options) {
  const bool checked = row.verification == Verification::verified ||
                       (options.unverified && row.verification == Verification::unverified);
  return checked && row.outcome == Outcome::ok && !row.control &&
         row.executor == options.executor && row.variant.stages.size() == 1;
}

/// Where something was measured: a stage, the axis value, and what else tells problems apart.
using SpotKey = std::tuple<Stage, std::int64_t, std::int64_t, std::int64_t>;

SpotKey key_of(Stage stage, const Problem& p) {
  return {stage, axis_value(p, axis_of(stage, p.phase)), p.total_tokens(), p.total_context()};
}

}  // namespace

PathTimes path_times(const Project& project, const DecideInput& input, const ProblemClass& of) {
  std::map<SpotKey, std::map<VariantId, std::vector<double>>> visits;
  for (const Measurement& row : input.rows) {
    if (!counts(row, input.options) || class_of(row.problem) != of) continue;
    const auto stage = from_string<Stage>(row.variant.stages.front());
    const auto ns = time_of(row);
    if (stage && ns && *ns > 0) visits[key_of(*stage, row.problem)][row.variant].push_back(*ns);
  }
  PathTimes times;
  for (const auto& [key, variants] : visits) {
    PathSpot spot{std::get<1>(key), {}};
    for (const auto& [id, ns] : variants) {
      const ProjectPath* path = path_of(project, id, named_path(id, input.variants));
      if (!path) continue;
      const double time = median(ns);
      const auto at = spot.ns.try_emplace(path->path, time).first;
      at->second = std::min(at->second, time);
    }
    times[std::get<0>(key)].push_back(std::move(spot));
  }
  return times;
}

}  // namespace nsa::tuner
