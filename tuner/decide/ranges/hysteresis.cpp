#include "hysteresis.hpp"

#include <algorithm>
#include <cmath>

#include "nsa/schemas/thresholds.hpp"

namespace nsa::tuner {

const Decision* find_decision(const ThresholdTable& table, const ProblemClass& problem_class,
                              const std::vector<std::string>& stages) {
  for (const ClassDecisions& of_class : table.classes) {
    if (of_class.problem_class != problem_class) continue;
    for (const Decision& decision : of_class.decisions) {
      if (decision.stages == stages) return &decision;
    }
  }
  return nullptr;
}

const ThresholdRange* range_at(const Decision& decision, std::int64_t at) {
  const bool apart = decision.alignment && at % decision.alignment->multiple == 0;
  for (const ThresholdRange& range : apart ? decision.alignment->ranges : decision.ranges) {
    if (at >= range.from && (!range.to || at < *range.to)) return &range;
  }
  return nullptr;
}

std::optional<Shipped> read_shipped(const Decision* shipped, const Group& group,
                                    const std::vector<LengthRatios>& points,
                                    const Assignment& fallback) {
  if (!shipped || shipped->axis != group.axis || points.empty()) return std::nullopt;
  Shipped result;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ThresholdRange* range = range_at(*shipped, points[i].at);
    const auto found =
        !range ? group.variants.end()
               : std::find(group.variants.begin(), group.variants.end(), range->variant);
    const auto v = static_cast<std::size_t>(found - group.variants.begin());
    const bool usable = found != group.variants.end() && points[i].usable[v];
    result.assignment.push_back(usable ? v : fallback[i]);
    result.followed = result.followed && usable;  // nothing decided there: decided now
  }
  return result;
}

bool change_pays(const std::vector<LengthRatios>& points, const Assignment& shipped,
                 const Assignment& now, double epsilon) {
  // Ties beside a boundary say nothing of whether the rest of a change pays.
  Assignment telling = shipped;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (shipped[i] == now[i]) continue;
    const LengthRatios& point = points[i];
    const bool tie = point.usable[shipped[i]] && point.usable[now[i]] &&
                     std::abs(point.excess[shipped[i]] - point.excess[now[i]]) <= epsilon;
    if (!tie) telling[i] = now[i];
  }
  constexpr double kTail = 0.05;  // one-sided: a loss is no reason to change, however sure it is
  const Gain gain = gain_of(points, shipped, telling, kTail);
  return gain.needed || (gain.mean > epsilon && gain.low > 0);
}

}  // namespace nsa::tuner
