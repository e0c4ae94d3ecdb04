#include "bridge.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace nsa::tuner {
namespace {

/// Of those that run at both lengths, the one with the least sum of log ratios at one of them; the
/// `neighbour` where nothing tells it apart from that one, since a range of its own would be a
/// switch for nothing.
std::optional<std::size_t> fastest(const std::vector<LengthRatios>& points,
                                   const std::vector<bool>& runs, const Segment& length,
                                   std::size_t neighbour) {
  std::optional<std::size_t> best;
  double least = 0;
  const auto sum_of = [&](std::size_t v, const auto& value) {
    double sum = 0;
    for (std::size_t i = length.first; i < length.last; ++i) sum += value(points[i], v);
    return sum;
  };
  const auto excess = [](const LengthRatios& point, std::size_t v) { return point.excess[v]; };
  const auto variance = [](const LengthRatios& point, std::size_t v) {
    return point.spread[v].variance;
  };
  for (std::size_t v = 0; v < runs.size(); ++v) {
    if (!runs[v]) continue;
    const double sum = sum_of(v, excess);
    if (best && sum >= least) continue;
    best = v;
    least = sum;
  }
  if (!best || !runs[neighbour]) return best;
  constexpr double kTie = 0.003, kSigmas = 2;
  const double noise = std::sqrt(sum_of(*best, variance) + sum_of(neighbour, variance));
  const double behind = sum_of(neighbour, excess) - least;
  return behind <= std::max(kTie, kSigmas * noise) ? neighbour : *best;
}

/// The segment's points of the length that lies at the gap after it, or before it.
Segment last_length(const std::vector<LengthRatios>& points, Segment segment) {
  const std::int64_t at = points[segment.last - 1].at;
  while (points[segment.first].at != at) ++segment.first;
  return segment;
}

Segment first_length(const std::vector<LengthRatios>& points, Segment segment) {
  const std::int64_t at = points[segment.first].at;
  while (points[segment.last - 1].at != at) --segment.last;
  return segment;
}

}  // namespace

std::vector<Segment> bridge(const std::vector<LengthRatios>& points, const Segment& left,
                            const Segment& right) {
  if (left.undecided || right.undecided) return {};
  const Segment below = last_length(points, left), above = first_length(points, right);
  std::vector<bool> runs(points[below.first].usable.size(), true);
  for (std::size_t i = below.first; i < above.last; ++i)
    for (std::size_t v = 0; v < runs.size(); ++v) runs[v] = runs[v] && points[i].usable[v];
  const auto from_left =
      runs[left.variant] ? left.variant : fastest(points, runs, below, right.variant);
  const auto from_right =
      runs[right.variant] ? right.variant : fastest(points, runs, above, left.variant);
  std::vector<Segment> found;
  for (const auto& variant : {from_left, from_right}) {
    const bool new_one = variant && *variant != left.variant && *variant != right.variant &&
                         (found.empty() || found.back().variant != *variant);
    if (new_one) found.push_back({below.first, above.last, *variant});
  }
  return found;
}

}  // namespace nsa::tuner
