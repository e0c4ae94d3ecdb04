// How long each path of a project took: what a setting loses is counted with these.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "nsa/schemas/median.hpp"
#include "path_ranges.hpp"

namespace nsa::tuner {
namespace {

bool counts(const Observation& row, const DecideOptions& options) {
  const bool checked = row.verification == Verification::verified ||
                       (options.unverified && row.verification == Verification::unverified);
  return checked && row.outcome == Outcome::ok && !row.control &&
         *row.executor == options.executor && row.variant->stages.size() == 1;
}

/// Where something was measured: a stage, the axis value, and what else tells problems apart.
using SpotKey = std::tuple<Stage, std::int64_t, std::int64_t, std::int64_t>;

SpotKey key_of(Stage stage, const Problem& p) {
  return {stage, axis_value(p, axis_of(stage, p.phase)), p.total_tokens(), p.total_context()};
}

}  // namespace

PathTimes path_times(const Project& project, const DecideInput& input, const ProblemClass& of) {
  std::map<SpotKey, std::map<VariantId, std::vector<double>>> visits;
  for (const Observation& row : input.rows.rows()) {
    if (!counts(row, input.options) || class_of(*row.problem) != of) continue;
    const auto stage = from_string<Stage>(row.variant->stages.front());
    if (stage && !std::isnan(row.log_ns))
      visits[key_of(*stage, *row.problem)][*row.variant].push_back(std::exp(row.log_ns));
  }
  PathTimes times;
  for (const auto& [key, variants] : visits) {
    PathPoint point{std::get<1>(key), {}};
    for (const auto& [id, ns] : variants) {
      const ProjectPath* path = path_of(project, id, named_path(id, input.variants));
      if (!path) continue;
      const double time = median(ns);
      const auto at = point.ns.try_emplace(path->path, time).first;
      at->second = std::min(at->second, time);
    }
    times[std::get<0>(key)].push_back(std::move(point));
  }
  return times;
}

}  // namespace nsa::tuner
