// Which variant runs at each measured point: least regret, fewest switches, ties to the simpler
// one.
#pragma once

#include <vector>

#include "decide/ratios/ratios.hpp"
#include "segmentation.hpp"

namespace nsa::tuner {

/// What is won by going from one assignment to another, in log time, over the points where they
/// differ.
struct Gain {
  double mean = 0;
  double low = 0;       // lower bound of it
  bool needed = false;  // the first assignment holds a variant that is not usable somewhere
  std::size_t points = 0;
};
/// `tail`: share of replicates below `low`.
Gain gain_of(const std::vector<LengthRatios>& points, const Assignment& from, const Assignment& to,
             double tail);

/// The assignment for these ratios; see the rules in the source. Empty without points.
Assignment choose_assignment(const std::vector<LengthRatios>& points, const DecideOptions& options);

/// Whether going from one assignment to another surely wins something, or wins much and most
/// likely.
bool differs(const std::vector<LengthRatios>& points, const Assignment& from, const Assignment& to,
             const DecideOptions& options);

/// What an assignment costs in all: the sum of its regrets, weighted.
double total_regret(const std::vector<LengthRatios>& points, const Assignment& assignment);

/// The same ratios where everything but the incumbent is slower by `margin`.
std::vector<LengthRatios> with_margin(std::vector<LengthRatios> points, const Assignment& incumbent,
                                      double margin);
/// The best assignment without any switch.
Assignment best_single(const std::vector<LengthRatios>& points);

}  // namespace nsa::tuner
