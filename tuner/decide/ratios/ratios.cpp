#include "ratios.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nsa/schemas/median.hpp"
#include "statistics.hpp"
#include "unasked.hpp"

namespace nsa::tuner {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kSeldomVisited = 0.03;
/// Standard deviation of the ratio of two that never shared a round: other runs, other clocks.
constexpr double kUnpaired = 0.02;

/// What is known of one point before the noise of all points is pooled.
struct Raw {
  std::size_t best = 0;                      // what the others are paired with
  std::vector<std::optional<Ratio>> ratios;  // of each variant against it
  std::vector<double> values;                // the same, or of plain medians; NaN = unknown
  std::optional<Ratio> control;
  double log_ns = 0;  // median of the best
};

std::size_t processes_of(const LengthPoint& point) {
  std::size_t count = 0;
  for (const RoundTimes& block : point.blocks) count = std::max(count, block.process + 1);
  return count;
}

std::vector<double> log_times(const LengthPoint& point, std::size_t variant) {
  std::vector<double> times;
  for (const RoundTimes& block : point.blocks) {
    if (!std::isnan(block.arms[variant])) times.push_back(block.arms[variant]);
  }
  return times;
}

/// Of two values in each block, the differences by process. `read` gives (a, b) of a block.
template <class Read>
ByProcess differences(const LengthPoint& point, const Read& read) {
  ByProcess result(processes_of(point));
  for (const RoundTimes& block : point.blocks) {
    const auto [a, b] = read(block);
    if (!std::isnan(a) && !std::isnan(b)) result[block.process].push_back(a - b);
  }
  return result;
}

ByProcess paired(const LengthPoint& point, std::size_t a, std::size_t b) {
  return differences(
      point, [=](const RoundTimes& block) { return std::pair(block.arms[a], block.arms[b]); });
}

/// The usable variant with the most blocks, the fastest of those: what the others are paired with.
std::size_t first_reference(const LengthPoint& point) {
  std::size_t best = point.usable.size(), most = 0;
  double least = 0;
  for (std::size_t v = 0; v < point.usable.size(); ++v) {
    if (!point.usable[v]) continue;
    const std::vector<double> times = log_times(point, v);
    const double value = median(times);
    const bool better = times.size() > most || (times.size() == most && value < least);
    if (best != point.usable.size() && !better) continue;
    best = v;
    most = times.size();
    least = value;
  }
  return best;
}

/// Paired ratios against `best`; without a common block, the ratio of the plain medians.
Raw against(const LengthPoint& point, std::size_t best) {
  Raw raw;
  raw.best = best;
  const double base = raw.log_ns = median(log_times(point, best));
  for (std::size_t v = 0; v < point.usable.size(); ++v) {
    raw.ratios.push_back(ratio_of(paired(point, v, best)));
    const std::vector<double> times = log_times(point, v);
    raw.values.push_back(raw.ratios[v]   ? raw.ratios[v]->value
                         : times.empty() ? kMissing
                                         : median(times) - base);
  }
  return raw;
}

std::size_t best_usable(const LengthPoint& point, const Raw& raw) {
  std::size_t best = raw.best;
  for (std::size_t v = 0; v < raw.values.size(); ++v) {
    if (point.usable[v] && raw.values[v] < raw.values[best]) best = v;
  }
  return best;
}

std::optional<Ratio> control_of(const LengthPoint& point) {
  std::optional<Ratio> found;
  for (std::size_t v = 0; v < point.usable.size(); ++v) {
    auto ratio = ratio_of(differences(point, [=](const RoundTimes& block) {
      return std::pair(block.controls[v], block.arms[v]);
    }));
    if (ratio && (!found || ratio->rounds > found->rounds)) found = ratio;
  }
  return found;
}

Raw read_point(const LengthPoint& point) {
  Raw raw = against(point, first_reference(point));
  // Against the best itself the ratios of the close ones have the least noise.
  if (const std::size_t best = best_usable(point, raw); best != raw.best)
    raw = against(point, best);
  raw.control = control_of(point);
  return raw;
}

PooledNoise pool(const std::vector<Raw>& raws) {
  std::vector<Ratio> ratios, controls;
  for (const Raw& raw : raws) {
    for (std::size_t v = 0; v < raw.ratios.size(); ++v) {
      if (v != raw.best && raw.ratios[v] && std::abs(raw.values[v]) < kOutOfReach)
        ratios.push_back(*raw.ratios[v]);
    }
    if (raw.control) controls.push_back(*raw.control);
  }
  return pool_noise(ratios, controls);
}

Spread spread_at(const Raw& raw, std::size_t v, const PooledNoise& pooled) {
  if (v == raw.best) return {};
  if (!raw.ratios[v]) return {kUnpaired * kUnpaired, 1000};
  Spread spread = spread_of(*raw.ratios[v], pooled);
  if (raw.values[v] > kOutOfReach)
    spread.variance = std::max(spread.variance, kSeldomVisited * kSeldomVisited);
  return spread;
}

/// Ratios of one process, or of every second round: of each variant to `best`.
void add_folds(const LengthPoint& point, std::size_t best, LengthRatios& result) {
  const std::size_t processes = processes_of(point);
  const std::size_t folds = std::max<std::size_t>(2, processes);
  std::vector<std::vector<std::vector<double>>> found(
      folds, std::vector<std::vector<double>>(point.usable.size()));
  std::size_t turn = 0;
  for (const RoundTimes& block : point.blocks) {
    if (std::isnan(block.arms[best])) continue;
    const std::size_t fold = processes > 1 ? block.process : turn++ % folds;
    for (std::size_t v = 0; v < block.arms.size(); ++v) {
      if (!std::isnan(block.arms[v])) found[fold][v].push_back(block.arms[v] - block.arms[best]);
    }
  }
  for (const auto& of_fold : found) {
    std::vector<double>& values = result.folds.emplace_back();
    for (const auto& ratios : of_fold)
      values.push_back(ratios.empty() ? kMissing : centre_of(ratios));
  }
}

void add_replicates(std::size_t count, Random& random, LengthRatios& result) {
  for (std::size_t v = 0; v < result.excess.size(); ++v) {
    std::vector<double> replicates(count, result.excess[v]);
    if (result.known[v] && result.spread[v].variance > 0) {
      const double sigma = std::sqrt(result.spread[v].variance);
      const std::vector<double> draws = student_draws(result.spread[v].freedom, count, random);
      for (std::size_t r = 0; r < count; ++r) replicates[r] += sigma * draws[r];
    }
    result.replicates.push_back(std::make_shared<std::vector<double>>(std::move(replicates)));
  }
}

LengthRatios ratios_at(const LengthPoint& point, const Raw& raw, const PooledNoise& pooled,
                       int count, Random& random) {
  LengthRatios result;
  result.at = point.at;
  result.usable = point.usable;
  result.excess = raw.values;
  for (std::size_t v = 0; v < raw.values.size(); ++v) {
    result.known.push_back(!std::isnan(raw.values[v]));
    result.spread.push_back(spread_at(raw, v, pooled));
  }
  result.reference_log_ns = raw.log_ns;
  if (raw.control) result.control = std::abs(value_of(*raw.control, pooled));
  add_folds(point, raw.best, result);
  add_replicates(static_cast<std::size_t>(count), random, result);
  return result;
}

/// Each entry of the workload counts for the nearest point; points that get nothing count nothing.
void weigh(std::vector<LengthRatios>& points, const std::vector<UseOfLength>& workload) {
  double total = 0;
  for (const UseOfLength& use : workload) total += use.weight;
  if (!(total > 0) || points.empty()) return;
  for (LengthRatios& point : points) point.weight = 0;
  for (const UseOfLength& use : workload) {
    const auto distance = [at = log_axis(use.tokens)](const LengthRatios& point) {
      return std::abs(log_axis(point.at) - at);
    };
    std::ranges::min_element(points, {}, distance)->weight += use.weight;
  }
  for (LengthRatios& point : points) point.weight *= static_cast<double>(points.size()) / total;
}

/// The best of the usable ones by all folds but `left_out`; the variant count where none is known.
std::size_t best_without(const LengthRatios& point, std::size_t left_out) {
  std::size_t best = point.usable.size();
  double least = 0;
  for (std::size_t v = 0; v < point.usable.size(); ++v) {
    if (!point.usable[v]) continue;
    double sum = 0;
    int count = 0;
    for (std::size_t f = 0; f < point.folds.size(); ++f) {
      if (f == left_out || std::isnan(point.folds[f][v])) continue;
      sum += point.folds[f][v];
      ++count;
    }
    if (count == 0 || (best < point.usable.size() && sum / count >= least)) continue;
    best = v;
    least = sum / count;
  }
  return best;
}

}  // namespace

double log_axis(std::int64_t at) { return std::log(std::max(static_cast<double>(at), 0.5)); }

std::size_t shared_blocks(const LengthPoint& point, std::size_t a, std::size_t b) {
  return static_cast<std::size_t>(std::ranges::count_if(point.blocks, [&](const RoundTimes& block) {
    return !std::isnan(block.arms[a]) && !std::isnan(block.arms[b]);
  }));
}

double regret_of(const LengthRatios& point, std::size_t variant) {
  double sum = 0;
  int count = 0;
  for (std::size_t f = 0; f < point.folds.size(); ++f) {
    const std::size_t best = best_without(point, f);
    if (best == point.usable.size()) continue;
    const double lost = point.folds[f][variant] - point.folds[f][best];
    if (std::isnan(lost)) continue;
    sum += std::expm1(lost);
    ++count;
  }
  // Seen in one round only, or never beside the others: the plain estimate.
  return count > 0 ? sum / count : std::expm1(point.excess[variant]);
}

std::vector<LengthRatios> estimate(const std::vector<LengthPoint>& points,
                                   const DecideOptions& options, Weights weights) {
  std::vector<std::size_t> used;
  std::vector<Raw> raws;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (std::ranges::none_of(points[i].usable, [](bool u) { return u; })) continue;
    used.push_back(i);
    raws.push_back(read_point(points[i]));
  }
  PooledNoise pooled = pool(raws);
  pooled.weights = weights;
  for (Raw& raw : raws) {
    for (std::size_t v = 0; v < raw.values.size(); ++v)
      if (raw.ratios[v]) raw.values[v] = value_of(*raw.ratios[v], pooled);
  }
  std::vector<LengthRatios> result;
  Random random(options.seed);
  for (std::size_t k = 0; k < used.size(); ++k) {
    result.push_back(ratios_at(points[used[k]], raws[k], pooled, options.bootstrap, random));
    result.back().point = used[k];
  }
  interpolate_unasked(points, options.seed + 1, result);
  weigh(result, options.workload);
  return result;
}

}  // namespace nsa::tuner
