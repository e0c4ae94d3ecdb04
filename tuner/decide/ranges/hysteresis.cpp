#include "hysteresis.hpp"

#include <algorithm>

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
                                    const std::vector<SpotRatios>& spots, const Table& fallback) {
  if (!shipped || shipped->axis != group.axis || spots.empty()) return std::nullopt;
  Shipped result;
  for (std::size_t i = 0; i < spots.size(); ++i) {
    const ThresholdRange* range = range_at(*shipped, spots[i].at);
    const auto found =
        !range ? group.variants.end()
               : std::find(group.variants.begin(), group.variants.end(), range->variant);
    const auto v = static_cast<std::size_t>(found - group.variants.begin());
    const bool usable = found != group.variants.end() && spots[i].usable[v];
    result.table.push_back(usable ? v : fallback[i]);
    result.followed = result.followed && usable;  // nothing decided there: decided now
  }
  return result;
}

bool change_pays(const std::vector<SpotRatios>& spots, const Table& shipped, const Table& now,
                 double epsilon) {
  const Gain gain = gain_of(spots, shipped, now, 0.025);
  return gain.needed || (gain.spots > 0 && gain.low > epsilon);
}

}  // namespace nsa::tuner
