#include "choose_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "statistics.hpp"

namespace nsa::tuner {
namespace {

constexpr std::size_t kMaxSwitches = 12;
/// Ranges are searched for, so the best split of pure noise looks like a gain: ask 99 %, two-sided.
constexpr double kTail = 0.005;
/// log ratio: 2 %
constexpr double kLargeGain = 0.02;

/// Regret as a share of time, weighted (least total regret: badness of GMP's tuneup, by magnitude).
CoverInput cover_input(const std::vector<SpotRatios>& spots) {
  CoverInput input;
  for (std::size_t i = 0; i < spots.size(); ++i) {
    const SpotRatios& spot = spots[i];
    std::vector<double> cost;
    for (std::size_t v = 0; v < spot.excess.size(); ++v) {
      cost.push_back(spot.usable[v] ? spot.weight * std::expm1(spot.excess[v]) : kForbidden);
    }
    input.cost.push_back(std::move(cost));
    input.may_switch.push_back(i > 0 && spots[i - 1].at != spot.at);
  }
  return input;
}

std::size_t switches_possible(const CoverInput& input) {
  const auto starts = std::count(input.may_switch.begin(), input.may_switch.end(), true);
  return std::min(kMaxSwitches, static_cast<std::size_t>(starts));
}

/// More ranges only where they are needed, or where they win more than is allowed to be lost, more
/// than a tie, and surely.
bool worth_it(const CoverInput& input, const std::vector<SpotRatios>& spots, const Table& simple,
              const Table& finer, const DecideOptions& options) {
  const Gain gain = gain_of(spots, simple, finer, kTail);
  if (gain.needed) return cost_of(input, finer) < cost_of(input, simple);
  const double total = cost_of(input, simple) - cost_of(input, finer);
  return total / static_cast<double>(spots.size()) > options.max_regret &&
         gain.mean > options.epsilon && gain.low > 0;
}

Table fewest_switches(const std::vector<SpotRatios>& spots, const DecideOptions& options) {
  const CoverInput input = cover_input(spots);
  const std::vector<Table> tables = cheapest_tables(input, switches_possible(input));
  std::size_t chosen = 0;
  for (std::size_t s = 1; s < tables.size(); ++s) {
    if (worth_it(input, spots, tables[chosen], tables[s], options)) chosen = s;
  }
  return tables[chosen];
}

/// What comes first in the catalog is the simpler: it wins where the range cannot tell them apart.
/// A gain that is not sure but large is still the better guess.
void prefer_simpler(const std::vector<SpotRatios>& spots, std::size_t from, std::size_t to,
                    const DecideOptions& options, Table& table) {
  for (std::size_t v = 0; v < table[from]; ++v) {
    Table other = table;
    std::fill(other.begin() + static_cast<std::ptrdiff_t>(from),
              other.begin() + static_cast<std::ptrdiff_t>(to), v);
    const Gain gain = gain_of(spots, other, table, kTail);
    const bool different = gain.low > 0 && gain.mean > options.max_regret;
    if (gain.needed || different || gain.mean > kLargeGain) continue;
    table = std::move(other);
    return;
  }
}

/// How much one block's log ratio of two variants varies, by all spots that have both: a length
/// that was visited twice says little of its own noise, its neighbours say more. Where they say too
/// little, the A/A controls do, whose ratio is known to be 1.
struct PooledNoise {
  double variance = 0;
  std::size_t freedom = 0;  // blocks beyond the first of each spot, and those of controls
};
PooledNoise pooled_noise(const std::vector<SpotRatios>& spots, std::size_t a, std::size_t b) {
  constexpr std::size_t kEnough = 3;
  double squares = 0;
  std::size_t freedom = 0;
  for (const SpotRatios& spot : spots) {
    const std::size_t blocks = blocks_of_pair(spot, a, b);
    if (blocks < 2 || !has_spread(spot, a) || !has_spread(spot, b)) continue;
    std::vector<double> differences;
    for (const std::vector<double>& r : spot.replicates) differences.push_back(r[a] - r[b]);
    const double spread = spread_of(spot.excess[a] - spot.excess[b], differences);
    squares += static_cast<double>((blocks - 1) * blocks) * spread * spread;
    freedom += blocks - 1;
  }
  if (freedom < kEnough) {
    for (const SpotRatios& spot : spots) {
      for (const double control : spot.controls) squares += control * control;
      freedom += spot.controls.size();
    }
  }
  return {freedom > 0 ? squares / static_cast<double>(freedom) : 0, freedom};
}

}  // namespace

Gain gain_of(const std::vector<SpotRatios>& spots, const Table& from, const Table& to,
             double tail) {
  Gain gain;
  double weights = 0, variance = 0;
  std::size_t freedom = 0;  // blocks beyond the first of each spot
  std::size_t pooled = std::numeric_limits<std::size_t>::max();  // of all spots
  std::vector<double> replicates;
  for (std::size_t i = 0; i < spots.size(); ++i) {
    if (from[i] == to[i]) continue;
    const SpotRatios& spot = spots[i];
    ++gain.spots;
    if (!spot.usable[from[i]]) gain.needed = true;
    if (!spot.usable[from[i]] || !spot.usable[to[i]]) continue;
    replicates.resize(spot.replicates.size());
    weights += spot.weight;
    const std::size_t blocks = blocks_of_pair(spot, from[i], to[i]);
    freedom += blocks - 1;
    const PooledNoise noise = pooled_noise(spots, from[i], to[i]);
    variance += spot.weight * spot.weight * noise.variance / static_cast<double>(blocks);
    pooled = std::min(pooled, noise.freedom);
    gain.mean += spot.weight * (spot.excess[from[i]] - spot.excess[to[i]]);
    for (std::size_t r = 0; r < replicates.size(); ++r) {
      replicates[r] += spot.weight * (spot.replicates[r][from[i]] - spot.replicates[r][to[i]]);
    }
  }
  if (!(weights > 0)) return gain;
  gain.mean /= weights;
  for (double& value : replicates) value /= weights;
  // Without a second block anywhere the spread of the replicates is an assumed one, and none of
  // other lengths replaces it.
  const bool assumed = freedom == 0;
  gain.low = interval_of(gain.mean, replicates, tail, assumed ? 0 : std::max(freedom, pooled),
                         assumed ? 0 : std::sqrt(variance) / weights)
                 .low;
  return gain;
}

Table choose_table(const std::vector<SpotRatios>& spots, const DecideOptions& options) {
  if (spots.empty()) return {};
  Table table = fewest_switches(spots, options);
  for (std::size_t from = 0, to = 0; from < table.size(); from = to) {
    const std::size_t variant = table[from];
    while (to < table.size() && table[to] == variant) ++to;
    prefer_simpler(spots, from, to, options, table);
  }
  return table;
}

std::vector<SpotRatios> with_margin(std::vector<SpotRatios> spots, const Table& incumbent,
                                    double margin) {
  const double penalty = std::log(margin);
  for (std::size_t i = 0; i < spots.size(); ++i) {
    for (std::size_t v = 0; v < spots[i].excess.size(); ++v) {
      if (v == incumbent[i]) continue;
      spots[i].excess[v] += penalty;
      for (std::vector<double>& replicate : spots[i].replicates) replicate[v] += penalty;
    }
  }
  return spots;
}

Table best_single(const std::vector<SpotRatios>& spots) {
  if (spots.empty()) return {};
  return cheapest_tables(cover_input(spots), 0).front();
}

}  // namespace nsa::tuner
