#include "place.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "statistics.hpp"

namespace nsa::tuner {
namespace {

/// Values of one spot: the estimates, or one replicate of them.
using Values = std::function<const std::vector<double>&(const SpotRatios&)>;

const std::vector<double>& estimates(const SpotRatios& spot) { return spot.excess; }

/// Spots with the axis value of spots[i], both ends.
std::pair<std::size_t, std::size_t> same_length(const std::vector<SpotRatios>& spots,
                                                std::size_t i) {
  std::size_t first = i, last = i + 1;
  while (first > 0 && spots[first - 1].at == spots[i].at) --first;
  while (last < spots.size() && spots[last].at == spots[i].at) ++last;
  return {first, last};
}

/// Mean log(left / right) at the length of spots[i]; nothing where one of them cannot run.
std::optional<double> difference(const std::vector<SpotRatios>& spots, std::size_t i,
                                 std::size_t left, std::size_t right, const Values& values) {
  const auto [first, last] = same_length(spots, i);
  double sum = 0;
  for (std::size_t j = first; j < last; ++j) {
    if (!spots[j].usable[left] || !spots[j].usable[right]) return std::nullopt;
    sum += values(spots[j])[left] - values(spots[j])[right];
  }
  return sum / static_cast<double>(last - first);
}

bool runs_at(const std::vector<SpotRatios>& spots, std::size_t i, std::size_t variant) {
  const auto [first, last] = same_length(spots, i);
  return std::all_of(spots.begin() + static_cast<std::ptrdiff_t>(first),
                     spots.begin() + static_cast<std::ptrdiff_t>(last),
                     [&](const SpotRatios& spot) { return spot.usable[variant]; });
}

std::int64_t within(double log_at, std::int64_t below, std::int64_t above) {
  const double value = std::ceil(std::exp(log_at) - 1e-9);
  return std::clamp(static_cast<std::int64_t>(value), below + 1, above);
}

/// Boundary between spots[i - 1] (left runs) and spots[i] (right runs).
std::int64_t between(const std::vector<SpotRatios>& spots, std::size_t i, std::size_t left,
                     std::size_t right, const Values& values) {
  const std::int64_t below = spots[i - 1].at, above = spots[i].at;
  const double low = log_axis(below), high = log_axis(above);
  const std::optional<double> before = difference(spots, i - 1, left, right, values);
  const std::optional<double> after = difference(spots, i, left, right, values);
  if (before && after) {
    if (*before >= 0) return below + 1;  // right was as good already at the length below
    if (*after <= 0) return above;
    return within(low + (high - low) * -*before / (*after - *before), below, above);
  }
  const bool left_above = runs_at(spots, i, left), right_below = runs_at(spots, i - 1, right);
  if (left_above != right_below) return left_above ? above : below + 1;
  return within((low + high) / 2, below, above);
}

/// The split in [left.first + 1, right.last) of least regret in one replicate.
std::size_t best_split(const std::vector<SpotRatios>& spots, const Run& left, const Run& right,
                       std::size_t r) {
  const auto loss = [&](std::size_t i) {  // of running the right variant instead of the left
    if (!spots[i].usable[left.variant] || !spots[i].usable[right.variant]) {
      return spots[i].usable[left.variant] ? kForbidden : -kForbidden;
    }
    return spots[i].weight *
           (spots[i].replicates[r][right.variant] - spots[i].replicates[r][left.variant]);
  };
  double cost = 0;
  for (std::size_t i = left.first + 1; i < right.last; ++i) cost += loss(i);
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = right.first;
  for (std::size_t i = left.first + 1; i < right.last; ++i) {
    if (spots[i].at != spots[i - 1].at && cost < least) {
      least = cost;
      best = i;
    }
    cost -= loss(i);
  }
  return best;
}

}  // namespace

std::vector<Run> runs_of(const Table& table) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (runs.empty() || runs.back().variant != table[i]) runs.push_back({i, i, table[i]});
    runs.back().last = i + 1;
  }
  return runs;
}

std::int64_t place_boundary(const std::vector<SpotRatios>& spots, const Run& left,
                            const Run& right) {
  return between(spots, right.first, left.variant, right.variant, estimates);
}

std::optional<BoundaryInterval> boundary_interval(const std::vector<SpotRatios>& spots,
                                                  const Run& left, const Run& right) {
  const std::size_t count = spots[right.first].replicates.size();
  if (count == 0) return std::nullopt;
  std::vector<double> places;
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t split = best_split(spots, left, right, r);
    const Values replicate = [r](const SpotRatios& spot) -> const std::vector<double>& {
      return spot.replicates[r];
    };
    places.push_back(
        static_cast<double>(between(spots, split, left.variant, right.variant, replicate)));
  }
  return BoundaryInterval{static_cast<std::int64_t>(std::floor(quantile(places, 0.025))),
                          static_cast<std::int64_t>(std::ceil(quantile(places, 0.975)))};
}

}  // namespace nsa::tuner
