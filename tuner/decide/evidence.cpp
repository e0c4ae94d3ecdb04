#include "evidence.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "nsa/schemas/median.hpp"
#include "statistics.hpp"

namespace nsa::tuner {
namespace {

constexpr double kTail = 0.025;  // of a 95 % interval

/// The other variant that is usable on most spots of the run, the fastest of those.
std::optional<std::size_t> runner_up_of(const std::vector<SpotRatios>& spots, const Run& run) {
  std::optional<std::size_t> best;
  std::size_t most = 0;
  double least = 0;
  for (std::size_t v = 0; v < spots[run.first].usable.size(); ++v) {
    if (v == run.variant) continue;
    std::size_t count = 0;
    double sum = 0;
    for (std::size_t i = run.first; i < run.last; ++i) {
      if (!spots[i].usable[v]) continue;
      ++count;
      sum += spots[i].excess[v] - spots[i].excess[run.variant];
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

/// Median over the spots that have both of log(variant / other); `value` reads one of a spot.
template <class Value>
double median_over(const std::vector<SpotRatios>& spots, const Run& run, std::size_t other,
                   const Value& value) {
  std::vector<double> logs;
  for (std::size_t i = run.first; i < run.last; ++i) {
    if (spots[i].usable[other] && spots[i].usable[run.variant]) {
      logs.push_back(value(spots[i])[run.variant] - value(spots[i])[other]);
    }
  }
  return logs.empty() ? 0 : median(std::move(logs));
}

void add_ratio(const Group& group, const std::vector<SpotRatios>& spots, const Run& run,
               std::size_t other, Evidence& evidence) {
  evidence.runner_up = to_string(group.variants[other]);
  const double log_ratio = median_over(
      spots, run, other, [](const SpotRatios& s) -> const auto& { return s.excess; });
  evidence.median_ratio = std::exp(log_ratio);
  std::size_t freedom = 0;  // blocks beyond the first of each spot
  for (std::size_t i = run.first; i < run.last; ++i) {
    const std::size_t shared = shared_blocks(group.spots[spots[i].spot], run.variant, other);
    evidence.pairs += static_cast<std::int64_t>(shared);
    if (shared > 0) freedom += shared - 1;
  }
  const std::size_t count = spots[run.first].replicates.size();
  if (freedom == 0 || count == 0) return;  // nothing is known of the spread
  std::vector<double> replicates;
  for (std::size_t r = 0; r < count; ++r) {
    replicates.push_back(median_over(
        spots, run, other, [r](const SpotRatios& s) -> const auto& { return s.replicates[r]; }));
  }
  const Interval interval = interval_of(log_ratio, replicates, kTail, freedom);
  evidence.ratio_low = std::exp(interval.low);
  evidence.ratio_high = std::exp(interval.high);
  const auto wins =
      std::count_if(replicates.begin(), replicates.end(), [](double value) { return value < 0; });
  evidence.p_better = static_cast<double>(wins) / static_cast<double>(count);
}

/// Mean over replicates of what the choice loses against the best one of that replicate.
double expected_regret(const std::vector<SpotRatios>& spots, const Run& run) {
  double sum = 0, weights = 0;
  for (std::size_t i = run.first; i < run.last; ++i) {
    const SpotRatios& spot = spots[i];
    if (!spot.usable[run.variant] || spot.replicates.empty()) continue;
    double of_spot = 0;
    for (const std::vector<double>& replicate : spot.replicates) {
      double least = replicate[run.variant];
      for (std::size_t v = 0; v < replicate.size(); ++v) {
        if (spot.usable[v]) least = std::min(least, replicate[v]);
      }
      of_spot += std::expm1(replicate[run.variant] - least);
    }
    sum += spot.weight * of_spot / static_cast<double>(spot.replicates.size());
    weights += spot.weight;
  }
  return weights > 0 ? sum / weights : 0;
}

std::optional<double> noise_floor_of(const std::vector<SpotRatios>& spots, const Run& run) {
  std::vector<double> floors;
  for (std::size_t i = run.first; i < run.last; ++i) {
    if (const auto floor = noise_floor(spots[i])) floors.push_back(*floor);
  }
  if (floors.empty()) return std::nullopt;
  return median(std::move(floors));
}

/// Rows of the chosen variant on the spots of the run that its time rests on.
Rows rows_of(const Group& group, const std::vector<SpotRatios>& spots, const Run& run) {
  Rows rows;
  for (std::size_t i = run.first; i < run.last; ++i) {
    for (const Measurement* row : group.spots[spots[i].spot].rows) {
      if (row->variant == group.variants[run.variant] && row->outcome == Outcome::ok) {
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace

Evidence evidence_of(const Group& group, const std::vector<SpotRatios>& spots, const Run& run) {
  Evidence evidence;
  if (const auto other = runner_up_of(spots, run)) {
    add_ratio(group, spots, run, *other, evidence);
  } else {
    for (std::size_t i = run.first; i < run.last; ++i) {
      evidence.pairs += static_cast<std::int64_t>(
          shared_blocks(group.spots[spots[i].spot], run.variant, run.variant));
    }
  }
  evidence.expected_regret = expected_regret(spots, run);
  evidence.noise_floor = noise_floor_of(spots, run);
  std::set<std::string> runs;
  for (const Measurement* row : rows_of(group, spots, run)) {
    runs.insert(row->run_id);
    if (row->verification == Verification::unverified) evidence.unverified = true;
  }
  evidence.run_ids.assign(runs.begin(), runs.end());
  return evidence;
}

std::string source_hash_of(const Group& group, const std::vector<SpotRatios>& spots,
                           const Run& run) {
  const Measurement* newest = nullptr;
  for (const Measurement* row : rows_of(group, spots, run)) {
    if (!newest || row->measured_at >= newest->measured_at) newest = row;
  }
  return newest ? newest->source_hash : "";
}

}  // namespace nsa::tuner
