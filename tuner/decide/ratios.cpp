#include "ratios.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "nsa/schemas/median.hpp"
#include "statistics.hpp"

namespace nsa::tuner {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
/// Beyond a factor of two a variant is out of every contest: its replicates would say nothing.
const double kOutOfReach = std::log(2.0);
/// One block says nothing of its spread: at least this much (1 %) is taken to be unknown.
constexpr double kUnknownSpread = 0.01;

/// Log ratios of every variant against `reference`: [variant][block], NaN = not measured there.
using Matrix = std::vector<std::vector<double>>;

Matrix ratios_against(const Spot& spot, std::size_t reference, std::size_t variants) {
  Matrix matrix(variants, std::vector<double>(spot.blocks.size(), kMissing));
  for (std::size_t b = 0; b < spot.blocks.size(); ++b) {
    const auto base = spot.blocks[b].arms.find(reference);
    if (base == spot.blocks[b].arms.end()) continue;
    for (const auto& [v, arm] : spot.blocks[b].arms) matrix[v][b] = log_ratio(arm, base->second);
  }
  return matrix;
}

/// Median over the chosen blocks of what is known; NaN when nothing is.
double known_median(const std::vector<double>& values, const std::vector<std::size_t>& chosen) {
  std::vector<double> known;
  known.reserve(chosen.size());
  for (const std::size_t b : chosen) {
    if (!std::isnan(values[b])) known.push_back(values[b]);
  }
  return known.empty() ? kMissing : median(std::move(known));
}

std::vector<std::size_t> every_block(const Spot& spot) {
  std::vector<std::size_t> all(spot.blocks.size());
  for (std::size_t b = 0; b < all.size(); ++b) all[b] = b;
  return all;
}

std::vector<double> raw_log_times(const Spot& spot, std::size_t variant) {
  std::vector<double> times;
  for (const Block& block : spot.blocks) {
    const auto arm = block.arms.find(variant);
    if (arm != block.arms.end()) times.push_back(arm->second.log_ns);
  }
  return times;
}

/// The usable variant with the most blocks, the fastest of those: what the others are paired with.
std::size_t first_reference(const Spot& spot) {
  std::size_t best = spot.usable.size(), most = 0;
  double least = 0;
  for (std::size_t v = 0; v < spot.usable.size(); ++v) {
    if (!spot.usable[v]) continue;
    const std::vector<double> times = raw_log_times(spot, v);
    const double value = median(times);
    const bool better = times.size() > most || (times.size() == most && value < least);
    if (best != spot.usable.size() && !better) continue;
    best = v;
    most = times.size();
    least = value;
  }
  return best;
}

/// Paired medians against `reference`; without a common block, the ratio of the plain medians.
std::vector<double> estimate_against(const Spot& spot, const Matrix& matrix,
                                     std::size_t reference) {
  const std::vector<std::size_t> all = every_block(spot);
  const double base = median(raw_log_times(spot, reference));
  std::vector<double> result;
  for (std::size_t v = 0; v < matrix.size(); ++v) {
    double value = known_median(matrix[v], all);
    const std::vector<double> times = raw_log_times(spot, v);
    if (std::isnan(value) && !times.empty()) value = median(times) - base;
    result.push_back(value);
  }
  return result;
}

std::size_t best_usable(const Spot& spot, const std::vector<double>& excess, std::size_t start) {
  std::size_t best = start;
  for (std::size_t v = 0; v < excess.size(); ++v) {
    if (spot.usable[v] && excess[v] < excess[best]) best = v;
  }
  return best;
}

std::vector<double> control_ratios(const Spot& spot) {
  std::vector<double> ratios;
  for (const Block& block : spot.blocks) {
    for (const auto& [v, twin] : block.controls) {
      const auto arm = block.arms.find(v);
      if (arm != block.arms.end()) ratios.push_back(log_ratio(twin, arm->second));
    }
  }
  return ratios;
}

/// Resamples whole blocks, the same draw for every variant, so that pairs stay pairs. Deviations
/// are stretched by sqrt(n / (n - 1)), because a resample of n varies less than n new blocks would.
void add_replicates(const Spot& spot, const Matrix& matrix, int count, Random& random,
                    SpotRatios& result) {
  const std::size_t n = spot.blocks.size();
  const auto blocks = static_cast<double>(n);
  const double stretch = n > 1 ? std::sqrt(blocks / (blocks - 1)) : 0;
  const double unknown = std::max(kUnknownSpread, noise_floor(result).value_or(0));
  std::vector<std::size_t> drawn(n);
  for (int r = 0; r < count; ++r) {
    std::vector<double> values = result.excess;
    for (std::size_t& b : drawn) b = random.below(n);
    for (std::size_t v = 0; v < values.size(); ++v) {
      if (!result.known[v] || values[v] > kOutOfReach) continue;
      if (n == 1 || result.blocks[v] < 2) {
        values[v] += unknown * random.normal();
        continue;
      }
      const double again = known_median(matrix[v], drawn);
      if (!std::isnan(again)) values[v] += (again - values[v]) * stretch;
    }
    result.replicates.push_back(std::move(values));
  }
}

SpotRatios estimate_spot(const Spot& spot, std::size_t variants, int count, Random& random) {
  std::size_t best = first_reference(spot);
  Matrix matrix = ratios_against(spot, best, variants);
  std::vector<double> excess = estimate_against(spot, matrix, best);
  // Against the best itself the ratios of the close ones have the least noise.
  const std::size_t better = best_usable(spot, excess, best);
  if (better != best) {
    best = better;
    matrix = ratios_against(spot, best, variants);
    excess = estimate_against(spot, matrix, best);
  }
  SpotRatios result;
  result.at = spot.at;
  for (const std::vector<double>& row : matrix) {
    result.blocks.push_back(static_cast<std::size_t>(
        std::count_if(row.begin(), row.end(), [](double value) { return !std::isnan(value); })));
  }
  result.usable = spot.usable;
  for (const double value : excess) result.known.push_back(!std::isnan(value));
  const double lowest = excess[best_usable(spot, excess, best)];
  for (double& value : excess) value -= lowest;
  for (std::vector<double>& row : matrix) {
    for (double& value : row) value -= lowest;
  }
  result.excess = std::move(excess);
  result.controls = control_ratios(spot);
  add_replicates(spot, matrix, count, random, result);
  return result;
}

/// Each entry of the workload counts for the nearest spot; spots that get nothing count nothing.
void weigh(std::vector<SpotRatios>& spots, const DecideOptions& options) {
  double total = 0;
  for (const auto& [length, weight] : options.workload) total += weight;
  if (!(total > 0) || spots.empty()) return;
  for (SpotRatios& spot : spots) spot.weight = 0;
  for (const auto& [length, weight] : options.workload) {
    const auto distance = [at = log_axis(length)](const SpotRatios& spot) {
      return std::abs(log_axis(spot.at) - at);
    };
    std::ranges::min_element(spots, {}, distance)->weight += weight;
  }
  for (SpotRatios& spot : spots) spot.weight *= static_cast<double>(spots.size()) / total;
}

}  // namespace

std::optional<double> noise_floor(const SpotRatios& spot) {
  if (spot.controls.empty()) return std::nullopt;
  return std::abs(median(spot.controls));
}

std::size_t blocks_of_pair(const SpotRatios& spot, std::size_t a, std::size_t b) {
  return std::max<std::size_t>(1, std::min(spot.blocks[a], spot.blocks[b]));
}

bool has_spread(const SpotRatios& spot, std::size_t variant) {
  return spot.known[variant] && spot.excess[variant] <= kOutOfReach;
}

double log_axis(std::int64_t at) { return std::log(std::max(static_cast<double>(at), 0.5)); }

std::size_t shared_blocks(const Spot& spot, std::size_t a, std::size_t b) {
  return static_cast<std::size_t>(std::count_if(
      spot.blocks.begin(), spot.blocks.end(),
      [&](const Block& block) { return block.arms.contains(a) && block.arms.contains(b); }));
}

std::vector<SpotRatios> estimate(const Group& group, const DecideOptions& options) {
  std::vector<SpotRatios> result;
  Random random(options.seed);
  for (std::size_t i = 0; i < group.spots.size(); ++i) {
    const Spot& spot = group.spots[i];
    if (std::none_of(spot.usable.begin(), spot.usable.end(), [](bool u) { return u; })) continue;
    result.push_back(estimate_spot(spot, group.variants.size(), options.bootstrap, random));
    result.back().spot = i;
  }
  weigh(result, options);
  return result;
}

}  // namespace nsa::tuner
