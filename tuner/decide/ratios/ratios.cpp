#include "ratios.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nsa/schemas/median.hpp"
#include "statistics.hpp"

namespace nsa::tuner {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
/// Beyond a factor of two a variant is out of every contest and is visited seldom: its ratio is
/// known to a few per cent at best.
const double kOutOfReach = std::log(2.0);
constexpr double kSeldomVisited = 0.03;
/// Standard deviation of the ratio of two that never shared a round: other runs, other clocks.
constexpr double kUnpaired = 0.02;

/// What is known of one spot before the noise of all spots is pooled.
struct Raw {
  std::size_t best = 0;                      // what the others are paired with
  std::vector<std::optional<Ratio>> ratios;  // of each variant against it
  std::vector<double> values;                // the same, or of plain medians; NaN = unknown
  std::optional<Ratio> control;
};

std::size_t processes_of(const Spot& spot) {
  std::size_t count = 0;
  for (const Block& block : spot.blocks) count = std::max(count, block.process + 1);
  return count;
}

std::vector<double> log_times(const Spot& spot, std::size_t variant) {
  std::vector<double> times;
  for (const Block& block : spot.blocks) {
    if (!std::isnan(block.arms[variant])) times.push_back(block.arms[variant]);
  }
  return times;
}

/// Of two values in each block, the differences by process. `read` gives (a, b) of a block.
template <class Read>
ByProcess differences(const Spot& spot, const Read& read) {
  ByProcess result(processes_of(spot));
  for (const Block& block : spot.blocks) {
    const auto [a, b] = read(block);
    if (!std::isnan(a) && !std::isnan(b)) result[block.process].push_back(a - b);
  }
  return result;
}

ByProcess paired(const Spot& spot, std::size_t a, std::size_t b) {
  return differences(spot,
                     [=](const Block& block) { return std::pair(block.arms[a], block.arms[b]); });
}

/// The usable variant with the most blocks, the fastest of those: what the others are paired with.
std::size_t first_reference(const Spot& spot) {
  std::size_t best = spot.usable.size(), most = 0;
  double least = 0;
  for (std::size_t v = 0; v < spot.usable.size(); ++v) {
    if (!spot.usable[v]) continue;
    const std::vector<double> times = log_times(spot, v);
    const double value = median(times);
    const bool better = times.size() > most || (times.size() == most && value < least);
    if (best != spot.usable.size() && !better) continue;
    best = v;
    most = times.size();
    least = value;
  }
  return best;
}

/// Paired ratios against `best`; without a common block, the ratio of the plain medians.
Raw against(const Spot& spot, std::size_t best) {
  Raw raw;
  raw.best = best;
  const double base = median(log_times(spot, best));
  for (std::size_t v = 0; v < spot.usable.size(); ++v) {
    raw.ratios.push_back(ratio_of(paired(spot, v, best)));
    const std::vector<double> times = log_times(spot, v);
    raw.values.push_back(raw.ratios[v]   ? raw.ratios[v]->value
                         : times.empty() ? kMissing
                                         : median(times) - base);
  }
  return raw;
}

std::size_t best_usable(const Spot& spot, const Raw& raw) {
  std::size_t best = raw.best;
  for (std::size_t v = 0; v < raw.values.size(); ++v) {
    if (spot.usable[v] && raw.values[v] < raw.values[best]) best = v;
  }
  return best;
}

std::optional<Ratio> control_of(const Spot& spot) {
  std::optional<Ratio> found;
  for (std::size_t v = 0; v < spot.usable.size(); ++v) {
    auto ratio = ratio_of(differences(
        spot, [=](const Block& block) { return std::pair(block.controls[v], block.arms[v]); }));
    if (ratio && (!found || ratio->rounds > found->rounds)) found = ratio;
  }
  return found;
}

Raw read_spot(const Spot& spot) {
  Raw raw = against(spot, first_reference(spot));
  // Against the best itself the ratios of the close ones have the least noise.
  if (const std::size_t best = best_usable(spot, raw); best != raw.best) raw = against(spot, best);
  raw.control = control_of(spot);
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
void add_folds(const Spot& spot, std::size_t best, SpotRatios& result) {
  const std::size_t processes = processes_of(spot);
  const std::size_t folds = std::max<std::size_t>(2, processes);
  std::vector<std::vector<std::vector<double>>> found(
      folds, std::vector<std::vector<double>>(spot.usable.size()));
  std::size_t turn = 0;
  for (const Block& block : spot.blocks) {
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

void add_replicates(std::size_t count, Random& random, SpotRatios& result) {
  result.replicates.assign(count, result.excess);
  for (std::size_t v = 0; v < result.excess.size(); ++v) {
    if (!result.known[v] || !(result.spread[v].variance > 0)) continue;
    const double sigma = std::sqrt(result.spread[v].variance);
    const std::vector<double> draws = student_draws(result.spread[v].freedom, count, random);
    for (std::size_t r = 0; r < count; ++r) result.replicates[r][v] += sigma * draws[r];
  }
}

SpotRatios ratios_at(const Spot& spot, const Raw& raw, const PooledNoise& pooled, int count,
                     Random& random) {
  SpotRatios result;
  result.at = spot.at;
  result.usable = spot.usable;
  result.excess = raw.values;
  for (std::size_t v = 0; v < raw.values.size(); ++v) {
    result.known.push_back(!std::isnan(raw.values[v]));
    result.spread.push_back(spread_at(raw, v, pooled));
  }
  if (raw.control) result.control = std::abs(raw.control->value);
  add_folds(spot, raw.best, result);
  add_replicates(static_cast<std::size_t>(count), random, result);
  return result;
}

/// Each entry of the workload counts for the nearest spot; spots that get nothing count nothing.
void weigh(std::vector<SpotRatios>& spots, const std::vector<UseOfLength>& workload) {
  double total = 0;
  for (const UseOfLength& use : workload) total += use.weight;
  if (!(total > 0) || spots.empty()) return;
  for (SpotRatios& spot : spots) spot.weight = 0;
  for (const UseOfLength& use : workload) {
    const auto distance = [at = log_axis(use.tokens)](const SpotRatios& spot) {
      return std::abs(log_axis(spot.at) - at);
    };
    std::ranges::min_element(spots, {}, distance)->weight += use.weight;
  }
  for (SpotRatios& spot : spots) spot.weight *= static_cast<double>(spots.size()) / total;
}

/// The best of the usable ones by all folds but `left_out`; the variant count where none is known.
std::size_t best_without(const SpotRatios& spot, std::size_t left_out) {
  std::size_t best = spot.usable.size();
  double least = 0;
  for (std::size_t v = 0; v < spot.usable.size(); ++v) {
    if (!spot.usable[v]) continue;
    double sum = 0;
    int count = 0;
    for (std::size_t f = 0; f < spot.folds.size(); ++f) {
      if (f == left_out || std::isnan(spot.folds[f][v])) continue;
      sum += spot.folds[f][v];
      ++count;
    }
    if (count == 0 || (best < spot.usable.size() && sum / count >= least)) continue;
    best = v;
    least = sum / count;
  }
  return best;
}

}  // namespace

double log_axis(std::int64_t at) { return std::log(std::max(static_cast<double>(at), 0.5)); }

std::size_t shared_blocks(const Spot& spot, std::size_t a, std::size_t b) {
  return static_cast<std::size_t>(std::ranges::count_if(spot.blocks, [&](const Block& block) {
    return !std::isnan(block.arms[a]) && !std::isnan(block.arms[b]);
  }));
}

double regret_of(const SpotRatios& spot, std::size_t variant) {
  double sum = 0;
  int count = 0;
  for (std::size_t f = 0; f < spot.folds.size(); ++f) {
    const std::size_t best = best_without(spot, f);
    if (best == spot.usable.size()) continue;
    const double lost = spot.folds[f][variant] - spot.folds[f][best];
    if (std::isnan(lost)) continue;
    sum += std::expm1(lost);
    ++count;
  }
  // Seen in one round only, or never beside the others: the plain estimate.
  return count > 0 ? sum / count : std::expm1(spot.excess[variant]);
}

std::vector<SpotRatios> estimate(const std::vector<Spot>& spots, const DecideOptions& options) {
  std::vector<std::size_t> used;
  std::vector<Raw> raws;
  for (std::size_t i = 0; i < spots.size(); ++i) {
    if (std::ranges::none_of(spots[i].usable, [](bool u) { return u; })) continue;
    used.push_back(i);
    raws.push_back(read_spot(spots[i]));
  }
  const PooledNoise pooled = pool(raws);
  std::vector<SpotRatios> result;
  Random random(options.seed);
  for (std::size_t k = 0; k < used.size(); ++k) {
    result.push_back(ratios_at(spots[used[k]], raws[k], pooled, options.bootstrap, random));
    result.back().spot = used[k];
  }
  weigh(result, options.workload);
  return result;
}

}  // namespace nsa::tuner
