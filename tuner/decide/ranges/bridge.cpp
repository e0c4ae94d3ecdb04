#include "bridge.hpp"

#include <algorithm>
#include <optional>

namespace nsa::tuner {
namespace {

/// Of those that run at both lengths, the one with the least sum of log ratios at one of them.
std::optional<std::size_t> fastest(const std::vector<LengthRatios>& points,
                                   const std::vector<bool>& runs, const Segment& length) {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t v = 0; v < runs.size(); ++v) {
    if (!runs[v]) continue;
    double sum = 0;
    for (std::size_t i = length.first; i < length.last; ++i) sum += points[i].excess[v];
    if (best && sum >= least) continue;
    best = v;
    least = sum;
  }
  return best;
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
  const auto from_left = runs[left.variant] ? left.variant : fastest(points, runs, below);
  const auto from_right = runs[right.variant] ? right.variant : fastest(points, runs, above);
  std::vector<Segment> found;
  for (const auto& variant : {from_left, from_right}) {
    const bool new_one = variant && *variant != left.variant && *variant != right.variant &&
                         (found.empty() || found.back().variant != *variant);
    if (new_one) found.push_back({below.first, above.last, *variant});
  }
  return found;
}

}  // namespace nsa::tuner
