// What a thresholds file alone says of the paths of a project: winners and runners-up.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "path_ranges.hpp"

namespace nsa::tuner {
namespace {

/// The middle of two lengths on a logarithmic axis.
std::int64_t middle_of(std::int64_t from, std::int64_t to) {
  return std::llround(std::sqrt(static_cast<double>(from) * static_cast<double>(to)));
}

constexpr std::int64_t kMostLengths = 10'000;  // that a file may count of one range

/// In the middle of what was measured of a range. Where an older file does not say what was, in the
/// middle of the range; one without an end is four times as long as it begins.
PathPoint point_of(const ThresholdRange& range) {
  const Evidence& evidence = range.evidence;
  const std::int64_t from = std::max<std::int64_t>(range.from, 1);
  PathPoint point;
  if (!evidence.measured_from || !evidence.measured_to) {
    point.at = middle_of(from, range.to.value_or(4 * from));
    return point;
  }
  point.first = *evidence.measured_from;
  point.last = *evidence.measured_to;
  point.problems = std::clamp<std::int64_t>(evidence.lengths, 1, kMostLengths);
  // A range may rest on neighbours; what it says holds inside of it.
  const std::int64_t end = range.to.value_or(std::numeric_limits<std::int64_t>::max());
  point.at = std::clamp(middle_of(std::max<std::int64_t>(point.first, 1), point.last), from,
                        std::max(from, end - 1));
  return point;
}

/// What one range says of the project's paths: the range by the one that is best, and times.
struct Told {
  ThresholdRange range;
  PathPoint point;
};
std::optional<Told> told_by(const ThresholdRange& range,
                            const std::function<const ProjectPath*(const VariantId&)>& known) {
  const Evidence& evidence = range.evidence;
  const bool raced = evidence.runner_up && evidence.median_ratio;
  const VariantId second = raced ? parse_variant_id(*evidence.runner_up) : VariantId{};
  const ProjectPath* first_path = known(range.variant);
  const ProjectPath* second_path = raced ? known(second) : nullptr;
  if (!first_path && !second_path) return std::nullopt;
  Told told{range, point_of(range)};
  if (first_path) told.point.ns[first_path->path] = raced ? *evidence.median_ratio : 1;
  if (second_path) told.point.ns.try_emplace(second_path->path, 1);
  if (!first_path) {
    told.range.variant = second;
    told.range.evidence = {};
  }
  return told;
}

}  // namespace

ClassDecisions as_far_as_told(const Project& project, const ClassDecisions& of,
                              const Device& device, const std::vector<VariantTraits>& variants,
                              PathTimes& times) {
  ClassDecisions told;
  told.problem_class = of.problem_class;
  told.reserves = of.reserves;
  const auto known = [&](const VariantId& id) -> const ProjectPath* {
    const ProjectPath* path = path_of(project, id, named_path(id, variants));
    return path && can_take(project, *path, of.problem_class, device) ? path : nullptr;
  };
  for (const Decision& decision : of.decisions) {
    const auto stage = from_string<Stage>(decision.stages.front());
    if (decision.stages.size() != 1 || !stage) continue;
    Decision part = decision;
    part.ranges.clear();
    for (const ThresholdRange& range : decision.ranges) {
      auto found = told_by(range, known);
      if (!found) continue;
      part.ranges.push_back(std::move(found->range));
      if (range.basis != Basis::extrapolated) times[*stage].push_back(std::move(found->point));
    }
    if (!part.ranges.empty()) told.decisions.push_back(std::move(part));
  }
  return told;
}

}  // namespace nsa::tuner
