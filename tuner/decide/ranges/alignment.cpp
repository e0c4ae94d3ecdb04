#include "alignment.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace nsa::tuner {
namespace {

constexpr std::array<std::int64_t, 6> kMultiples{256, 128, 64, 32, 16, 8};
constexpr std::size_t kLeastLengths = 2;  // of either side
constexpr double kTail = 0.005;           // the best of several splits looks like a gain

std::size_t lengths_of(const std::vector<LengthRatios>& points) {
  std::set<std::int64_t> lengths;
  for (const LengthRatios& point : points) lengths.insert(point.at);
  return lengths.size();
}

std::size_t switches_of(const Assignment& assignment) {
  return assignment.empty() ? 0 : segments_of(assignment).size() - 1;
}

/// The choice of both sides at all points, in their order.
Assignment joined(const std::vector<LengthRatios>& points, const Apart& apart) {
  Assignment assignment;
  std::size_t aligned = 0, others = 0;
  for (const LengthRatios& point : points) {
    const bool full = point.at % apart.multiple == 0;
    assignment.push_back(full ? apart.of_aligned.assignment[aligned++]
                              : apart.of_others.assignment[others++]);
  }
  return assignment;
}

std::optional<Apart> split_by(std::int64_t multiple, const Group& group,
                              const std::vector<LengthRatios>& points, const Decision* shipped,
                              const DecideOptions& options) {
  Apart apart;
  apart.multiple = multiple;
  for (const LengthRatios& point : points)
    (point.at % multiple == 0 ? apart.aligned : apart.others).push_back(point);
  if (lengths_of(apart.aligned) < kLeastLengths || lengths_of(apart.others) < kLeastLengths)
    return std::nullopt;
  std::vector<std::string> said;  // of both sides once more: nothing new
  apart.of_aligned = choose(group, apart.aligned, shipped, options, said);
  apart.of_others = choose(group, apart.others, shipped, options, said);
  return apart;
}

bool pays(const std::vector<LengthRatios>& points, const Chosen& together, const Apart& apart,
          const DecideOptions& options) {
  const Assignment assignment = joined(points, apart);
  const double won =
      (total_regret(points, together.assignment) - total_regret(points, assignment)) /
      static_cast<double>(points.size());
  const std::size_t switches =
      1 + switches_of(apart.of_aligned.assignment) + switches_of(apart.of_others.assignment);
  if (won >= 0 && switches < switches_of(together.assignment)) return true;
  const Gain gain = gain_of(points, together.assignment, assignment, kTail);
  return won > options.max_regret && gain.mean > options.epsilon && gain.low > 0;
}

}  // namespace

std::optional<Apart> decide_apart(const Group& group, const std::vector<LengthRatios>& points,
                                  const Chosen& together, const Decision* shipped,
                                  const DecideOptions& options) {
  // Tiles are of tokens: what the other axes count says nothing of them.
  if (group.axis != Axis::seq_len && group.axis != Axis::context_len) return std::nullopt;
  std::optional<Apart> best;
  double least = 0;  // regret, and what a switch may cost where another multiple needs none
  for (const std::int64_t multiple : kMultiples) {
    auto apart = split_by(multiple, group, points, shipped, options);
    if (!apart || !pays(points, together, *apart, options)) continue;
    const auto switches = static_cast<double>(switches_of(apart->of_aligned.assignment) +
                                              switches_of(apart->of_others.assignment));
    const double cost = total_regret(points, joined(points, *apart)) +
                        switches * options.max_regret * static_cast<double>(points.size());
    if (best && cost >= least) continue;
    least = cost;
    best = std::move(apart);
  }
  return best;
}

}  // namespace nsa::tuner
