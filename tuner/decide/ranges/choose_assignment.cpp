#include "choose_assignment.hpp"

#include <algorithm>
#include <cmath>

#include "decide/ratios/statistics.hpp"

namespace nsa::tuner {
namespace {

constexpr std::size_t kMaxSwitches = 12;
/// Ranges are searched for, so the best split of pure noise looks like a gain: ask 99.8 %,
/// two-sided.
constexpr double kOddTail = 0.001;
/// log ratio: 2 %
constexpr double kLargeGain = 0.02;

/// Regret as a share of time, weighted (least total regret: badness of GMP's tuneup, by magnitude).
SegmentationInput segmentation_input(const std::vector<LengthRatios>& points) {
  SegmentationInput input;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const LengthRatios& point = points[i];
    std::vector<double> cost;
    for (std::size_t v = 0; v < point.excess.size(); ++v) {
      cost.push_back(point.usable[v] ? point.weight * std::expm1(point.excess[v]) : kForbidden);
    }
    input.cost.push_back(std::move(cost));
    input.may_switch.push_back(i > 0 && points[i - 1].at != point.at);
  }
  return input;
}

std::size_t switches_possible(const SegmentationInput& input) {
  const auto starts = std::count(input.may_switch.begin(), input.may_switch.end(), true);
  return std::min(kMaxSwitches, static_cast<std::size_t>(starts));
}

/// More ranges only where they are needed, or where they win more than is allowed to be lost, more
/// than a tie, and surely.
bool worth_it(const SegmentationInput& input, const std::vector<LengthRatios>& points,
              const Assignment& simple, const Assignment& finer, const DecideOptions& options) {
  const Gain gain = gain_of(points, simple, finer, kOddTail);
  if (gain.needed) return cost_of(input, finer) < cost_of(input, simple);
  const double total = cost_of(input, simple) - cost_of(input, finer);
  return total / static_cast<double>(points.size()) > options.max_regret &&
         gain.mean > options.epsilon && gain.low > 0;
}

Assignment fewest_switches(const std::vector<LengthRatios>& points, const DecideOptions& options) {
  const SegmentationInput input = segmentation_input(points);
  const std::vector<Assignment> assignments = cheapest_assignments(input, switches_possible(input));
  std::size_t chosen = 0;
  for (std::size_t s = 1; s < assignments.size(); ++s) {
    if (worth_it(input, points, assignments[chosen], assignments[s], options)) chosen = s;
  }
  return assignments[chosen];
}

/// What comes first grows more slowly with the length, or is what runs where nobody has measured:
/// it wins where the range cannot tell them apart.
void prefer_simpler(const std::vector<LengthRatios>& points, std::size_t from, std::size_t to,
                    const DecideOptions& options, Assignment& assignment) {
  for (std::size_t v = 0; v < assignment[from]; ++v) {
    Assignment other = assignment;
    std::fill(other.begin() + static_cast<std::ptrdiff_t>(from),
              other.begin() + static_cast<std::ptrdiff_t>(to), v);
    if (differs(points, other, assignment, options)) continue;
    assignment = std::move(other);
    return;
  }
}

}  // namespace

Gain gain_of(const std::vector<LengthRatios>& points, const Assignment& from, const Assignment& to,
             double tail) {
  Gain gain;
  double weights = 0;
  std::vector<double> replicates;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (from[i] == to[i]) continue;
    const LengthRatios& point = points[i];
    ++gain.points;
    if (!point.usable[from[i]]) gain.needed = true;
    if (!point.usable[from[i]] || !point.usable[to[i]]) continue;
    replicates.resize(point.replicate_count());
    weights += point.weight;
    gain.mean += point.weight * (point.excess[from[i]] - point.excess[to[i]]);
    for (std::size_t r = 0; r < replicates.size(); ++r)
      replicates[r] += point.weight * (point.replicate(r, from[i]) - point.replicate(r, to[i]));
  }
  if (!(weights > 0)) return gain;
  gain.mean /= weights;
  for (double& value : replicates) value /= weights;
  gain.low = interval_of(gain.mean, replicates, tail).low;
  return gain;
}

bool differs(const std::vector<LengthRatios>& points, const Assignment& from, const Assignment& to,
             const DecideOptions& options) {
  const Gain sure = gain_of(points, from, to, kOddTail);
  if (sure.needed || (sure.low > 0 && sure.mean > options.max_regret)) return true;
  constexpr double kLikely = 0.1;
  return sure.mean > kLargeGain && gain_of(points, from, to, kLikely).low > 0;
}

double total_regret(const std::vector<LengthRatios>& points, const Assignment& assignment) {
  return cost_of(segmentation_input(points), assignment);
}

Assignment choose_assignment(const std::vector<LengthRatios>& points,
                             const DecideOptions& options) {
  if (points.empty()) return {};
  Assignment assignment = fewest_switches(points, options);
  for (std::size_t from = 0, to = 0; from < assignment.size(); from = to) {
    const std::size_t variant = assignment[from];
    while (to < assignment.size() && assignment[to] == variant) ++to;
    prefer_simpler(points, from, to, options, assignment);
  }
  return assignment;
}

std::vector<LengthRatios> with_margin(std::vector<LengthRatios> points, const Assignment& incumbent,
                                      double margin) {
  const double penalty = std::log(margin);
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t v = 0; v < points[i].excess.size(); ++v) {
      if (v == incumbent[i]) continue;
      points[i].excess[v] += penalty;
      std::vector<double> replicates = *points[i].replicates[v];
      for (double& replicate : replicates) replicate += penalty;
      points[i].replicates[v] = std::make_shared<std::vector<double>>(std::move(replicates));
    }
  }
  return points;
}

Assignment best_single(const std::vector<LengthRatios>& points) {
  if (points.empty()) return {};
  return cheapest_assignments(segmentation_input(points), 0).front();
}

}  // namespace nsa::tuner
