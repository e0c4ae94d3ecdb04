// How long each path of a project took: what a setting loses is counted with these.
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "nsa/schemas/median.hpp"
#include "path_ranges.hpp"

namespace nsa::tuner {
namespace {

bool counts(const Observation& row, const DecideOptions& options) {
  const bool checked = row.verification == Verification::verified ||
                       (options.unverified && row.verification == Verification::unverified);
  return checked && row.outcome == Outcome::ok && !std::isnan(row.log_ns) && !row.control &&
         *row.executor == options.executor && row.variant->stages.size() == 1;
}

/// Where something was measured: a stage, the axis value, and what else tells problems apart.
using SpotKey = std::tuple<Stage, std::int64_t, std::int64_t, std::int64_t>;

SpotKey key_of(Stage stage, const Problem& p) {
  return {stage, axis_value(p, axis_of(stage, p.phase)), p.total_tokens(), p.total_context()};
}

/// A problem of one class, for one stage.
using ClassSpot = std::pair<std::string, SpotKey>;

/// The spots of rows. Rows share their problems, so that the class of each is written once.
class Spots {
 public:
  std::optional<ClassSpot> of(const Observation& row) {
    if (row.variant->stages.size() != 1) return std::nullopt;
    const auto stage = from_string<Stage>(row.variant->stages.front());
    if (!stage) return std::nullopt;
    std::string& name = names_[row.problem];
    if (name.empty()) name = to_string(class_of(*row.problem));
    return ClassSpot(name, key_of(*stage, *row.problem));
  }

 private:
  std::map<const Problem*, std::string> names_;
};

}  // namespace

std::set<SwitchTarget> paths_in(const std::vector<PathPoint>& points) {
  std::set<SwitchTarget> paths;
  for (const PathPoint& point : points) {
    for (const auto& [path, ns] : point.ns) paths.insert(path);
  }
  return paths;
}

std::vector<PathPoint> met(const std::vector<PathPoint>& points) {
  std::vector<PathPoint> result;
  std::ranges::copy_if(points, std::back_inserter(result),
                       [](const PathPoint& point) { return point.ns.size() > 1; });
  return result;
}

DecideInput where_paths_met(const Project& project, const DecideInput& input) {
  Spots spots;
  std::map<VariantId, const ProjectPath*> paths;
  std::map<ClassSpot, std::set<SwitchTarget>> seen;
  for (const Observation& row : input.rows.rows()) {
    const auto spot = counts(row, input.options) ? spots.of(row) : std::nullopt;
    if (!spot) continue;
    const auto [at, is_new] = paths.try_emplace(*row.variant);
    if (is_new) at->second = path_of(project, at->first, named_path(at->first, input.variants));
    if (at->second) seen[*spot].insert(at->second->path);
  }
  DecideInput result = input;
  result.rows = input.rows.only([&](const Observation& row) {
    const auto spot = spots.of(row);
    const auto at = spot ? seen.find(*spot) : seen.end();
    return at != seen.end() && at->second.size() > 1;
  });
  return result;
}

ClassPathTimes path_times(const Project& project, const DecideInput& input) {
  Spots spots;
  std::map<ClassSpot, std::map<VariantId, std::vector<double>>> visits;
  for (const Observation& row : input.rows.rows()) {
    const auto spot = counts(row, input.options) ? spots.of(row) : std::nullopt;
    if (spot) visits[*spot][*row.variant].push_back(std::exp(row.log_ns));
  }
  ClassPathTimes times;
  for (const auto& [spot, variants] : visits) {
    const auto& [of, key] = spot;
    const std::int64_t length = std::get<1>(key);
    PathPoint point{length, {}, length, length};
    for (const auto& [id, ns] : variants) {
      const ProjectPath* path = path_of(project, id, named_path(id, input.variants));
      if (!path) continue;
      const double time = std::max(1.0, std::round(median(ns)));
      const auto at = point.ns.try_emplace(path->path, time).first;
      at->second = std::min(at->second, time);
    }
    if (!point.ns.empty()) times[of][std::get<0>(key)].push_back(std::move(point));
  }
  return times;
}

PathTimes path_times(const Project& project, const DecideInput& input, const ProblemClass& of) {
  ClassPathTimes all = path_times(project, input);
  return std::move(all[to_string(of)]);
}

}  // namespace nsa::tuner
