#include "held_out.hpp"

#include <algorithm>

namespace nsa::tuner {
std::optional<std::size_t> runs_at(const Group& group, const Decision& decision,
                                   const LengthRatios& point) {
  if (const ThresholdRange* range = range_at(decision, point.at)) {
    const auto found = std::ranges::find(group.variants, range->variant);
    const auto v = static_cast<std::size_t>(found - group.variants.begin());
    if (found != group.variants.end() && point.usable[v]) return v;
    return std::nullopt;
  }
  const auto found =
      std::ranges::find_if(group.built_in, [&](std::size_t v) { return point.usable[v]; });
  return found == group.built_in.end() ? std::nullopt : std::optional(*found);
}

std::optional<HeldOut> held_out_regret(const Group& group, const Decision& decision,
                                       const DecideOptions& options) {
  DecideOptions plain = options;
  plain.bootstrap = 0;  // only the estimates are asked for
  HeldOut held_out;
  for (const LengthRatios& point : estimate(group.held_out, plain)) {
    const std::optional<std::size_t> variant = runs_at(group, decision, point);
    if (!variant) continue;
    const double regret = std::max(0.0, regret_of(point, *variant));
    ++held_out.lengths;
    held_out.mean_regret += regret;
    if (held_out.lengths > 1 && regret <= held_out.worst_regret) continue;
    held_out.worst_regret = regret;
    held_out.worst_at = point.at;
  }
  if (held_out.lengths == 0) return std::nullopt;
  held_out.mean_regret /= static_cast<double>(held_out.lengths);
  return held_out;
}

}  // namespace nsa::tuner
