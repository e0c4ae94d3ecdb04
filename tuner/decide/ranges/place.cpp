#include "place.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "decide/ratios/statistics.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::tuner {
namespace {

/// log(left / right) at each spot of both runs, the mean over the spots of one length; NaN where
/// one of them cannot run. Index 0 is spots[left.first].
using Line = std::vector<double>;

bool both_run(const SpotRatios& spot, const Run& left, const Run& right) {
  return spot.usable[left.variant] && spot.usable[right.variant];
}

/// `value` gives log(left / right) of a spot where both run.
template <class Value>
Line line_of(const std::vector<SpotRatios>& spots, const Run& left, const Run& right,
             const Value& value) {
  Line line;
  for (std::size_t i = left.first, end = i; i < right.last; i = end) {
    double sum = 0;
    while (end < right.last && spots[end].at == spots[i].at) {
      const SpotRatios& spot = spots[end++];
      sum += both_run(spot, left, right) ? value(spot) : std::numeric_limits<double>::quiet_NaN();
    }
    line.insert(line.end(), end - i, sum / static_cast<double>(end - i));
  }
  return line;
}

bool runs_at(const std::vector<SpotRatios>& spots, std::int64_t at, std::size_t variant) {
  return std::ranges::all_of(
      spots, [&](const SpotRatios& spot) { return spot.at != at || spot.usable[variant]; });
}

std::int64_t within(double log_at, std::int64_t below, std::int64_t above) {
  const double value = std::ceil(std::exp(log_at) - 1e-9);
  return std::clamp(static_cast<std::int64_t>(value), below + 1, above);
}

/// Boundary between spots[i - 1] (left runs) and spots[i] (right runs).
std::int64_t between(const std::vector<SpotRatios>& spots, const Run& left, const Run& right,
                     std::size_t i, const Line& line) {
  const std::int64_t below = spots[i - 1].at, above = spots[i].at;
  const double low = log_axis(below), high = log_axis(above);
  const double before = line[i - 1 - left.first], after = line[i - left.first];
  if (!std::isnan(before) && !std::isnan(after)) {
    if (before >= 0) return below + 1;  // right was as good already at the length below
    if (after <= 0) return above;
    return within(low + (high - low) * -before / (after - before), below, above);
  }
  const bool left_above = runs_at(spots, above, left.variant);
  const bool right_below = runs_at(spots, below, right.variant);
  if (left_above != right_below) return left_above ? above : below + 1;
  return within((low + high) / 2, below, above);
}

/// Estimates of log(left / right), with the variance of each.
struct Curve {
  std::vector<double> at, value, variance;
};
Curve curve_of(const std::vector<SpotRatios>& spots, const Run& left, const Run& right) {
  Curve curve;
  for (std::size_t i = left.first; i < right.last; ++i) {
    const SpotRatios& spot = spots[i];
    if (!both_run(spot, left, right)) continue;
    if (!curve.at.empty() && curve.at.back() == log_axis(spot.at)) continue;
    curve.at.push_back(log_axis(spot.at));
    curve.value.push_back(spot.excess[left.variant] - spot.excess[right.variant]);
    // Near a crossing one of the two is the reference of the other, whose spread is 0.
    curve.variance.push_back(
        std::max(spot.spread[left.variant].variance, spot.spread[right.variant].variance));
  }
  return curve;
}

/// Variance of the ratio at a length about the straight line between its neighbours, beyond what
/// its noise explains; of the lengths nearest to the boundary. Nothing where too few tell.
std::optional<double> ripple_of(const Curve& curve, double boundary) {
  constexpr std::size_t kNearest = 8;
  constexpr double kMedianShare = 0.4549;        // median of a chi-squared variable of freedom 1
  std::vector<std::pair<double, double>> found;  // distance, variance
  for (std::size_t i = 1; i + 1 < curve.at.size(); ++i) {
    const double w = (curve.at[i] - curve.at[i - 1]) / (curve.at[i + 1] - curve.at[i - 1]);
    const double off = curve.value[i] - std::lerp(curve.value[i - 1], curve.value[i + 1], w);
    const double noise = curve.variance[i] + (1 - w) * (1 - w) * curve.variance[i - 1] +
                         w * w * curve.variance[i + 1];
    const double shares = 1 + w * w + (1 - w) * (1 - w);
    found.emplace_back(std::abs(curve.at[i] - boundary),
                       (off * off / kMedianShare - noise) / shares);
  }
  if (found.empty()) return std::nullopt;
  std::ranges::sort(found);
  found.resize(std::min(found.size(), kNearest));
  std::vector<double> variances;
  for (const auto& [distance, variance] : found) variances.push_back(variance);
  return std::max(0.0, median(std::move(variances)));
}

/// The split in [left.first + 1, right.last) of least regret in one replicate.
std::size_t best_split(const std::vector<SpotRatios>& spots, const Run& left, const Run& right,
                       const Line& line) {
  const auto loss = [&](std::size_t i) {  // of running the right variant instead of the left
    const double ratio = line[i - left.first];
    if (std::isnan(ratio)) return spots[i].usable[left.variant] ? kForbidden : -kForbidden;
    return -spots[i].weight * ratio;
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

double estimate_at(const SpotRatios& spot, const Run& left, const Run& right) {
  return spot.excess[left.variant] - spot.excess[right.variant];
}

/// A replicate of the line: noise of each spot, and how curves differ from straight lines.
Line replicate_of(const std::vector<SpotRatios>& spots, const Run& left, const Run& right,
                  std::size_t r, const std::vector<double>& ripple) {
  Line line = line_of(spots, left, right, [&](const SpotRatios& spot) {
    return spot.replicates[r][left.variant] - spot.replicates[r][right.variant];
  });
  for (std::size_t i = 0; i < line.size() && !ripple.empty(); ++i)
    line[i] += ripple[(r + i * 977) % ripple.size()];  // another draw for each spot
  return line;
}

}  // namespace

std::vector<Run> runs_of(const Table& table, const std::vector<bool>& undecided) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const bool open = !undecided.empty() && undecided[i];
    if (runs.empty() || runs.back().variant != table[i] || runs.back().undecided != open)
      runs.push_back({i, i, table[i], open});
    runs.back().last = i + 1;
  }
  return runs;
}

std::int64_t place_boundary(const std::vector<SpotRatios>& spots, const Run& left,
                            const Run& right) {
  const Line line = line_of(spots, left, right,
                            [&](const SpotRatios& spot) { return estimate_at(spot, left, right); });
  return between(spots, left, right, right.first, line);
}

std::optional<BoundaryInterval> boundary_interval(const std::vector<SpotRatios>& spots,
                                                  const Run& left, const Run& right) {
  const std::size_t count = spots[right.first].replicates.size();
  if (count == 0) return std::nullopt;
  const double boundary = log_axis(place_boundary(spots, left, right));
  const std::optional<double> variance = ripple_of(curve_of(spots, left, right), boundary);
  std::vector<double> ripple;
  if (variance && *variance > 0) {
    Random random(right.first);
    constexpr double kNormal = 1000;
    ripple = student_draws(kNormal, count, random);
    for (double& draw : ripple) draw *= std::sqrt(*variance);
  }
  std::vector<double> places;
  for (std::size_t r = 0; r < count; ++r) {
    const Line line = replicate_of(spots, left, right, r, ripple);
    const std::size_t split = best_split(spots, left, right, line);
    places.push_back(static_cast<double>(between(spots, left, right, split, line)));
  }
  BoundaryInterval interval{static_cast<std::int64_t>(std::floor(quantile(places, 0.025))),
                            static_cast<std::int64_t>(std::ceil(quantile(places, 0.975)))};
  if (!variance) {
    interval.low = std::min(interval.low, spots[right.first - 1].at + 1);
    interval.high = std::max(interval.high, spots[right.first].at);
  }
  return interval;
}

}  // namespace nsa::tuner
