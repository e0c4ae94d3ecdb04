#include "evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "decide/ratios/statistics.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::tuner {
namespace {

constexpr double kTail = 0.025;  // of a 95 % interval

/// Rounds in which two variants met, of a contest that was not cut short.
constexpr std::size_t kFewestRounds = 2;

/// The other variant that met the chosen one at most points of the segment, the fastest of those.
/// A single round, as a stopped sweep leaves it, counts only where nobody has more.
std::optional<std::size_t> runner_up_of(const Group& group, const std::vector<LengthRatios>& points,
                                        const Segment& segment, std::size_t rounds) {
  std::optional<std::size_t> best;
  std::size_t most = 0;
  double least = 0;
  for (std::size_t v = 0; v < points[segment.first].usable.size(); ++v) {
    if (v == segment.variant) continue;
    std::size_t count = 0;
    double sum = 0;
    for (std::size_t i = segment.first; i < segment.last; ++i) {
      if (!points[i].usable[v]) continue;
      if (shared_blocks(group.points[points[i].point], segment.variant, v) < rounds) continue;
      ++count;
      sum += points[i].excess[v] - points[i].excess[segment.variant];
    }
    if (count == 0) continue;
    const double mean = sum / static_cast<double>(count);
    if (count < most || (count == most && mean >= least)) continue;
    best = v;
    most = count;
    least = mean;
  }
  return best;
}

/// Median over the points that have both of log(variant / other); `value` reads that of a variant.
template <class Value>
double median_over(const std::vector<LengthRatios>& points, const Segment& segment,
                   std::size_t other, const Value& value) {
  std::vector<double> logs;
  for (std::size_t i = segment.first; i < segment.last; ++i) {
    if (points[i].usable[other] && points[i].usable[segment.variant]) {
      logs.push_back(value(points[i], segment.variant) - value(points[i], other));
    }
  }
  return logs.empty() ? 0 : median(std::move(logs));
}

/// What the choice loses on average over the points. Noise of one point may be below 0, that of
/// many falls out of the mean.
double expected_regret(const std::vector<LengthRatios>& points, const Segment& segment) {
  double sum = 0, weights = 0;
  for (std::size_t i = segment.first; i < segment.last; ++i) {
    if (!points[i].usable[segment.variant]) continue;
    sum += points[i].weight * regret_of(points[i], segment.variant);
    weights += points[i].weight;
  }
  return weights > 0 ? std::max(0.0, sum / weights) : 0;
}

/// What two identical kernels differed by, at 95 % of the points.
std::optional<double> noise_floor_of(const std::vector<LengthRatios>& points,
                                     const Segment& segment) {
  std::vector<double> floors;
  for (std::size_t i = segment.first; i < segment.last; ++i) {
    if (points[i].control) floors.push_back(*points[i].control);
  }
  if (floors.empty()) return std::nullopt;
  return quantile(std::move(floors), 0.95);
}

/// Variants that run on all points of the segment and that nothing tells from the chosen one:
/// neither a difference that is sure, nor one that is large.
std::vector<std::string> ties_of(const Group& group, const std::vector<LengthRatios>& points,
                                 const Segment& segment, const DecideOptions& options) {
  std::vector<std::string> ties;
  for (std::size_t v = 0; v < group.variants.size(); ++v) {
    if (v == segment.variant) continue;
    Assignment chosen(points.size(), segment.variant), other = chosen;
    bool everywhere = true;
    for (std::size_t i = segment.first; i < segment.last; ++i) {
      other[i] = v;
      everywhere = everywhere && points[i].usable[v];
    }
    if (!everywhere) continue;
    if (!differs(points, other, chosen, options)) ties.push_back(to_string(group.variants[v]));
  }
  return ties;
}

/// Rows of the chosen variant on the points of the segment that its time rests on.
Rows rows_of(const Group& group, const std::vector<LengthRatios>& points, const Segment& segment) {
  Rows rows;
  for (std::size_t i = segment.first; i < segment.last; ++i) {
    for (const Observation* row : group.points[points[i].point].rows) {
      if (*row->variant == group.variants[segment.variant] && row->outcome == Outcome::ok) {
        rows.push_back(row);
      }
    }
  }
  return rows;
}

/// What the choice is against, by how much it is better, and what it may lose.
Evidence stakes_of(const Group& group, const std::vector<LengthRatios>& points,
                   const Segment& segment) {
  Evidence evidence;
  auto other = runner_up_of(group, points, segment, kFewestRounds);
  if (!other) other = runner_up_of(group, points, segment, 0);
  if (other) {
    add_ratio(group, points, segment, *other, evidence);
  } else {
    for (std::size_t i = segment.first; i < segment.last; ++i) {
      evidence.pairs += static_cast<std::int64_t>(
          shared_blocks(group.points[points[i].point], segment.variant, segment.variant));
    }
  }
  evidence.expected_regret = expected_regret(points, segment);
  return evidence;
}

}  // namespace

void add_ratio(const Group& group, const std::vector<LengthRatios>& points, const Segment& segment,
               std::size_t other, Evidence& evidence) {
  evidence.runner_up = to_string(group.variants[other]);
  const double log_ratio = median_over(
      points, segment, other, [](const LengthRatios& s, std::size_t v) { return s.excess[v]; });
  evidence.median_ratio = std::exp(log_ratio);
  std::size_t most = 0;
  for (std::size_t i = segment.first; i < segment.last; ++i) {
    const std::size_t shared = shared_blocks(group.points[points[i].point], segment.variant, other);
    evidence.pairs += static_cast<std::int64_t>(shared);
    most = std::max(most, shared);
  }
  const std::size_t count = points[segment.first].replicate_count();
  if (most < 2 || count == 0) return;  // nothing is known of the spread
  std::vector<double> replicates;
  for (std::size_t r = 0; r < count; ++r) {
    replicates.push_back(
        median_over(points, segment, other,
                    [r](const LengthRatios& s, std::size_t v) { return s.replicate(r, v); }));
  }
  const Interval interval = interval_of(log_ratio, replicates, kTail);
  evidence.ratio_low = std::exp(interval.low);
  evidence.ratio_high = std::exp(interval.high);
  const auto wins =
      std::count_if(replicates.begin(), replicates.end(), [](double value) { return value < 0; });
  evidence.p_better = static_cast<double>(wins) / static_cast<double>(count);
}

Evidence evidence_of(const Group& group, const std::vector<LengthRatios>& points,
                     const Segment& segment, const DecideOptions& options) {
  Evidence evidence = stakes_of(group, points, segment);
  evidence.noise_floor = noise_floor_of(points, segment);
  evidence.ties = ties_of(group, points, segment, options);
  evidence.measured_from = points[segment.first].at;
  evidence.measured_to = points[segment.last - 1].at;
  evidence.lengths = std::count_if(points.begin() + static_cast<std::ptrdiff_t>(segment.first),
                                   points.begin() + static_cast<std::ptrdiff_t>(segment.last),
                                   [&](const LengthRatios& point) {
                                     const LengthPoint& at = group.points[point.point];
                                     return !at.unasked[segment.variant];
                                   });
  std::set<std::string> runs;
  for (const Observation* row : rows_of(group, points, segment)) {
    runs.insert(*row->run_id);
    if (row->verification == Verification::unverified) evidence.unverified = true;
  }
  evidence.run_ids.assign(runs.begin(), runs.end());
  return evidence;
}

std::string doubt_of(const Group& group, const std::vector<LengthRatios>& points,
                     const Segment& segment, const DecideOptions& options) {
  const Evidence evidence = stakes_of(group, points, segment);
  // What a margin leaves to the variant before is asked for.
  if (evidence.expected_regret > options.max_doubt + options.margin - 1)
    return fmt::format("it may lose {:.0f} %", 100 * evidence.expected_regret);
  if (!evidence.ratio_low || !evidence.ratio_high) return "";
  const double low = std::log(*evidence.ratio_low), high = std::log(*evidence.ratio_high);
  const bool either_side = low < 0 && high > 0;
  if (!either_side || high - low <= 2 * options.max_doubt) return "";
  return fmt::format("its time is {:.2f} to {:.2f} of that of {}", *evidence.ratio_low,
                     *evidence.ratio_high, evidence.runner_up.value_or("the others"));
}

std::string source_hash_of(const Group& group, const std::vector<LengthRatios>& points,
                           const Segment& segment) {
  Rows rows = rows_of(group, points, segment);
  if (rows.empty()) rows = rows_of(group, points, {0, points.size(), segment.variant});
  const auto newest = std::ranges::max_element(
      rows, {}, [](const Observation* row) -> const std::string& { return *row->measured_at; });
  return newest == rows.end() ? "" : *(*newest)->source_hash;
}

}  // namespace nsa::tuner
