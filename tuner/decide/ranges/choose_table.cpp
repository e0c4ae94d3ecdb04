#include "choose_table.hpp"

#include <algorithm>
#include <cmath>

#include "decide/ratios/statistics.hpp"

namespace nsa::tuner {
namespace {

constexpr std::size_t kMaxSwitches = 12;
/// Ranges are searched for, so the best split of pure noise looks like a gain: ask 99.5 %,
/// two-sided.
constexpr double kTail = 0.0025;
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

/// What comes first grows more slowly with the length, or is what runs where nobody has measured:
/// it wins where the range cannot tell them apart.
void prefer_simpler(const std::vector<SpotRatios>& spots, std::size_t from, std::size_t to,
                    const DecideOptions& options, Table& table) {
  for (std::size_t v = 0; v < table[from]; ++v) {
    Table other = table;
    std::fill(other.begin() + static_cast<std::ptrdiff_t>(from),
              other.begin() + static_cast<std::ptrdiff_t>(to), v);
    if (differs(spots, other, table, options)) continue;
    table = std::move(other);
    return;
  }
}

}  // namespace

Gain gain_of(const std::vector<SpotRatios>& spots, const Table& from, const Table& to,
             double tail) {
  Gain gain;
  double weights = 0;
  std::vector<double> replicates;
  for (std::size_t i = 0; i < spots.size(); ++i) {
    if (from[i] == to[i]) continue;
    const SpotRatios& spot = spots[i];
    ++gain.spots;
    if (!spot.usable[from[i]]) gain.needed = true;
    if (!spot.usable[from[i]] || !spot.usable[to[i]]) continue;
    replicates.resize(spot.replicates.size());
    weights += spot.weight;
    gain.mean += spot.weight * (spot.excess[from[i]] - spot.excess[to[i]]);
    for (std::size_t r = 0; r < replicates.size(); ++r) {
      replicates[r] += spot.weight * (spot.replicates[r][from[i]] - spot.replicates[r][to[i]]);
    }
  }
  if (!(weights > 0)) return gain;
  gain.mean /= weights;
  for (double& value : replicates) value /= weights;
  gain.low = interval_of(gain.mean, replicates, tail).low;
  return gain;
}

bool differs(const std::vector<SpotRatios>& spots, const Table& from, const Table& to,
             const DecideOptions& options) {
  const Gain sure = gain_of(spots, from, to, kTail);
  if (sure.needed || (sure.low > 0 && sure.mean > options.max_regret)) return true;
  constexpr double kLikely = 0.1;
  return sure.mean > kLargeGain && gain_of(spots, from, to, kLikely).low > 0;
}

double total_regret(const std::vector<SpotRatios>& spots, const Table& table) {
  return cost_of(cover_input(spots), table);
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
