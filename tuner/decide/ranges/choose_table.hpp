// Which variant runs at each measured spot: least regret, fewest switches, ties to the simpler one.
#pragma once

#include <vector>

#include "cover.hpp"
#include "decide/ratios/ratios.hpp"

namespace nsa::tuner {

/// What is won by going from one table to another, in log time, over the spots where they differ.
struct Gain {
  double mean = 0;
  double low = 0;       // lower bound of it
  bool needed = false;  // the first table holds a variant that is not usable somewhere
  std::size_t spots = 0;
};
/// `tail`: share of replicates below `low`.
Gain gain_of(const std::vector<SpotRatios>& spots, const Table& from, const Table& to, double tail);

/// The table for these ratios; see the rules in the source. Empty without spots.
Table choose_table(const std::vector<SpotRatios>& spots, const DecideOptions& options);

/// Whether going from one table to another surely wins something, or wins much and most likely.
bool differs(const std::vector<SpotRatios>& spots, const Table& from, const Table& to,
             const DecideOptions& options);

/// What a table costs in all: the sum of its regrets, weighted.
double total_regret(const std::vector<SpotRatios>& spots, const Table& table);

/// The same ratios where everything but the incumbent is slower by `margin`.
std::vector<SpotRatios> with_margin(std::vector<SpotRatios> spots, const Table& incumbent,
                                    double margin);
/// The best table without any switch.
Table best_single(const std::vector<SpotRatios>& spots);

}  // namespace nsa::tuner
