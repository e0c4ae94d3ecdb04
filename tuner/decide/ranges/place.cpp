#include "place.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "decide/ratios/statistics.hpp"
#include "nsa/schemas/median.hpp"
#include "nsa/schemas/statistics/least_squares.hpp"

namespace nsa::tuner {
namespace {

/// log(left / right) at each point of both segments, the mean over the points of one length; NaN
/// where one of them cannot run. Index 0 is points[left.first].
using Line = std::vector<double>;

bool both_run(const LengthRatios& point, const Segment& left, const Segment& right) {
  return point.usable[left.variant] && point.usable[right.variant];
}

/// `value` gives log(left / right) of a point where both run.
template <class Value>
Line line_of(const std::vector<LengthRatios>& points, const Segment& left, const Segment& right,
             const Value& value) {
  Line line;
  for (std::size_t i = left.first, end = i; i < right.last; i = end) {
    double sum = 0;
    while (end < right.last && points[end].at == points[i].at) {
      const LengthRatios& point = points[end++];
      sum += both_run(point, left, right) ? value(point) : std::numeric_limits<double>::quiet_NaN();
    }
    line.insert(line.end(), end - i, sum / static_cast<double>(end - i));
  }
  return line;
}

bool runs_at(const std::vector<LengthRatios>& points, std::int64_t at, std::size_t variant) {
  return std::ranges::all_of(
      points, [&](const LengthRatios& point) { return point.at != at || point.usable[variant]; });
}

std::int64_t within(double log_at, std::int64_t below, std::int64_t above) {
  const double value = std::ceil(std::exp(log_at) - 1e-9);
  return std::clamp(static_cast<std::int64_t>(value), below + 1, above);
}

/// Boundary between points[i - 1] (left runs) and points[i] (right runs).
std::int64_t between(const std::vector<LengthRatios>& points, const Segment& left,
                     const Segment& right, std::size_t i, const Line& line) {
  const std::int64_t below = points[i - 1].at, above = points[i].at;
  const double low = log_axis(below), high = log_axis(above);
  const double before = line[i - 1 - left.first], after = line[i - left.first];
  if (!std::isnan(before) && !std::isnan(after)) {
    if (before >= 0) return below + 1;  // right was as good already at the length below
    if (after <= 0) return above;
    return within(low + (high - low) * -before / (after - before), below, above);
  }
  const bool left_above = runs_at(points, above, left.variant);
  const bool right_below = runs_at(points, below, right.variant);
  if (left_above != right_below) return left_above ? above : below + 1;
  return within((low + high) / 2, below, above);
}

/// Estimates of log(left / right), with the variance of each.
struct Curve {
  std::vector<double> at, value, variance;
};
Curve curve_of(const std::vector<LengthRatios>& points, const Segment& left, const Segment& right) {
  Curve curve;
  for (std::size_t i = left.first; i < right.last; ++i) {
    const LengthRatios& point = points[i];
    if (!both_run(point, left, right)) continue;
    if (!curve.at.empty() && curve.at.back() == log_axis(point.at)) continue;
    curve.at.push_back(log_axis(point.at));
    curve.value.push_back(point.excess[left.variant] - point.excess[right.variant]);
    // Near a crossing one of the two is the reference of the other, whose spread is 0.
    curve.variance.push_back(
        std::max(point.spread[left.variant].variance, point.spread[right.variant].variance));
  }
  return curve;
}

/// How far a length is off the straight line between its neighbours.
struct OffLine {
  double distance = 0;  // to the boundary, on the logarithmic axis
  double squared = 0;   // of the ratio; its mean is that of a chi-squared variable of freedom 1
  double noise = 0;     // variance of it that the noise of the three lengths explains
  double shares = 1;    // how often it holds the variance of one length
};
std::vector<OffLine> off_lines(const Curve& curve, double boundary) {
  constexpr double kMedianShare = 0.4549;  // median of a chi-squared variable of freedom 1
  std::vector<OffLine> found;
  for (std::size_t i = 1; i + 1 < curve.at.size(); ++i) {
    const double w = (curve.at[i] - curve.at[i - 1]) / (curve.at[i + 1] - curve.at[i - 1]);
    const double off = curve.value[i] - std::lerp(curve.value[i - 1], curve.value[i + 1], w);
    const double noise = curve.variance[i] + (1 - w) * (1 - w) * curve.variance[i - 1] +
                         w * w * curve.variance[i + 1];
    found.push_back({std::abs(curve.at[i] - boundary), off * off / kMedianShare, noise,
                     1 + w * w + (1 - w) * (1 - w)});
  }
  return found;
}

/// Variance of the ratio at a length about the straight line between its neighbours, beyond what
/// its noise explains; of the lengths nearest to the boundary. Nothing where too few tell.
std::optional<double> ripple_of(const Curve& curve, double boundary) {
  constexpr std::size_t kNearest = 8;
  std::vector<OffLine> found = off_lines(curve, boundary);
  if (found.empty()) return std::nullopt;
  std::ranges::sort(found, {}, &OffLine::distance);
  found.resize(std::min(found.size(), kNearest));
  std::vector<double> variances;
  for (const OffLine& off : found) variances.push_back((off.squared - off.noise) / off.shares);
  return std::max(0.0, median(std::move(variances)));
}

/// Standard deviation of the ratio at a length about a smooth curve, noise and all: the median of
/// all lengths. Lengths beside a crossing alone look calmer than they are, since where ratios
/// happen to be near 1 is where the crossing seems to be.
double scatter_of(const Curve& curve) {
  std::vector<double> variances;
  for (const OffLine& off : off_lines(curve, 0)) variances.push_back(off.squared / off.shares);
  return variances.empty() ? 0 : std::sqrt(median(std::move(variances)));
}

/// Lengths within a sixth of an octave count as one: a search for the crossing goes on for as long
/// as ratios have one sign, so many lengths side by side are no chance.
Curve thinned(const Curve& curve) {
  const double step = std::log(2.0) / 6;
  Curve thin;
  for (std::size_t i = 0, end = 0; i < curve.at.size(); i = end) {
    double at = 0, value = 0;
    while (end < curve.at.size() && curve.at[end] - curve.at[i] <= step) {
      at += curve.at[end];
      value += curve.value[end++];
    }
    thin.at.push_back(at / static_cast<double>(end - i));
    thin.value.push_back(value / static_cast<double>(end - i));
  }
  return thin;
}

/// The lengths nearest to a boundary, which tell where the curves cross as a whole. Empty where
/// they are too few for a line and its error.
Curve around(const Curve& curve, double boundary, std::size_t nearest) {
  constexpr std::size_t kFew = 4;
  std::vector<std::size_t> order(curve.at.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::abs(curve.at[i] - boundary); });
  order.resize(std::min(order.size(), nearest));
  Curve found;
  for (const std::size_t i : order) {
    found.at.push_back(curve.at[i]);
    found.value.push_back(curve.value[i]);
  }
  return found.at.size() < kFew ? Curve{} : found;
}

/// 95 % interval of the zero of a straight line through the points (Fieller 1954): where ratios
/// jump from length to length, that of the curves behind. `scatter`: of a length at least. Nothing
/// where the line may be level.
std::optional<Interval> crossing_of(const Curve& points, double scatter) {
  const StraightLine line = straight_line(points.at, points.value);
  const auto n = static_cast<double>(points.at.size());
  const double reach = student_quantile(0.025, n - 2) * std::max(line.error, scatter);
  if (line.xx <= 0 || line.slope <= 0) return std::nullopt;
  const double a = line.slope * line.slope - reach * reach / line.xx;
  const double b = line.mean_y * line.slope, c = line.mean_y * line.mean_y - reach * reach / n;
  const double root = b * b - a * c;
  if (a <= 0 || root < 0) return std::nullopt;
  return Interval{line.mean_x + (-b - std::sqrt(root)) / a,
                  line.mean_x + (-b + std::sqrt(root)) / a};
}

/// Both intervals, within the lengths where the two variants were measured. Where the nearest
/// lengths cannot tell the line from a level one, more of them do.
void widen(BoundaryInterval& interval, const Curve& curve, double boundary) {
  constexpr std::size_t kNearest = 12, kMore = 4;
  const Curve thin = thinned(curve);
  const double scatter = scatter_of(curve);
  if (around(thin, boundary, kNearest).at.empty()) return;
  std::optional<Interval> found;
  for (std::size_t n = kNearest; !found && n < thin.at.size() + kMore; n += kMore)
    found = crossing_of(around(thin, boundary, n), scatter);
  const Interval all{curve.at.front(), curve.at.back()};
  const Interval crossing = found.value_or(all);
  const auto length = [&](double log_at) {
    return std::exp(std::clamp(log_at, all.low, all.high));
  };
  interval.low = std::min(interval.low, static_cast<std::int64_t>(length(crossing.low)));
  interval.high =
      std::max(interval.high, static_cast<std::int64_t>(std::ceil(length(crossing.high))));
}

/// The split in [left.first + 1, right.last) of least regret in one replicate.
std::size_t best_split(const std::vector<LengthRatios>& points, const Segment& left,
                       const Segment& right, const Line& line) {
  const auto loss = [&](std::size_t i) {  // of running the right variant instead of the left
    const double ratio = line[i - left.first];
    if (std::isnan(ratio)) return points[i].usable[left.variant] ? kForbidden : -kForbidden;
    return -points[i].weight * ratio;
  };
  double cost = 0;
  for (std::size_t i = left.first + 1; i < right.last; ++i) cost += loss(i);
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = right.first;
  for (std::size_t i = left.first + 1; i < right.last; ++i) {
    if (points[i].at != points[i - 1].at && cost < least) {
      least = cost;
      best = i;
    }
    cost -= loss(i);
  }
  return best;
}

double estimate_at(const LengthRatios& point, const Segment& left, const Segment& right) {
  return point.excess[left.variant] - point.excess[right.variant];
}

/// A replicate of the line: noise of each point, and how curves differ from straight lines.
Line replicate_of(const std::vector<LengthRatios>& points, const Segment& left,
                  const Segment& right, std::size_t r, const std::vector<double>& ripple) {
  Line line = line_of(points, left, right, [&](const LengthRatios& point) {
    return point.replicate(r, left.variant) - point.replicate(r, right.variant);
  });
  for (std::size_t i = 0; i < line.size() && !ripple.empty(); ++i)
    line[i] += ripple[(r + i * 977) % ripple.size()];  // another draw for each point
  return line;
}

}  // namespace

std::vector<Segment> segments_of(const Assignment& assignment, const std::vector<bool>& undecided) {
  std::vector<Segment> segments;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const bool open = !undecided.empty() && undecided[i];
    if (segments.empty() || segments.back().variant != assignment[i] ||
        segments.back().undecided != open)
      segments.push_back({i, i, assignment[i], open});
    segments.back().last = i + 1;
  }
  return segments;
}

std::int64_t place_boundary(const std::vector<LengthRatios>& points, const Segment& left,
                            const Segment& right) {
  const Line line = line_of(points, left, right, [&](const LengthRatios& point) {
    return estimate_at(point, left, right);
  });
  return between(points, left, right, right.first, line);
}

std::optional<BoundaryInterval> boundary_interval(const std::vector<LengthRatios>& points,
                                                  const Segment& left, const Segment& right) {
  const std::size_t count = points[right.first].replicate_count();
  if (count == 0) return std::nullopt;
  const double boundary = log_axis(place_boundary(points, left, right));
  const Curve curve = curve_of(points, left, right);
  const std::optional<double> variance = ripple_of(curve, boundary);
  std::vector<double> ripple;
  if (variance && *variance > 0) {
    Random random(right.first);
    constexpr double kNormal = 1000;
    ripple = student_draws(kNormal, count, random);
    for (double& draw : ripple) draw *= std::sqrt(*variance);
  }
  std::vector<double> places;
  for (std::size_t r = 0; r < count; ++r) {
    const Line line = replicate_of(points, left, right, r, ripple);
    const std::size_t split = best_split(points, left, right, line);
    places.push_back(static_cast<double>(between(points, left, right, split, line)));
  }
  BoundaryInterval interval{static_cast<std::int64_t>(std::floor(quantile(places, 0.025))),
                            static_cast<std::int64_t>(std::ceil(quantile(places, 0.975)))};
  const LengthRatios &below = points[right.first - 1], &above = points[right.first];
  // Where one of them did not run at both lengths, nothing tells where between them they meet.
  const bool met = both_run(below, left, right) && both_run(above, left, right);
  if (!variance || !met) {
    interval.low = std::min(interval.low, below.at + 1);
    interval.high = std::max(interval.high, above.at);
  }
  if (!ripple.empty()) widen(interval, curve, boundary);
  return interval;
}

}  // namespace nsa::tuner
