// What a thresholds file alone says of the paths of a project: winners and runners-up.
#include <algorithm>
#include <cmath>
#include <functional>

#include "path_ranges.hpp"

namespace nsa::tuner {
namespace {

/// The middle of a range on a logarithmic axis; a range without an end is four times as long as it
/// begins.
std::int64_t middle_of(const ThresholdRange& range) {
  const double from = static_cast<double>(std::max<std::int64_t>(range.from, 1));
  const double to = range.to ? static_cast<double>(*range.to) : 4 * from;
  return std::llround(std::sqrt(from * to));
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
  Told told{range, {middle_of(range), {}}};
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
      times[*stage].push_back(std::move(found->point));
    }
    if (!part.ranges.empty()) told.decisions.push_back(std::move(part));
  }
  return told;
}

}  // namespace nsa::tuner
