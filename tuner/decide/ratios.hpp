// How much slower each variant is than the best, at each problem, with bootstrap replicates.
#pragma once

#include <cstdint>
#include <vector>

#include "groups.hpp"

namespace nsa::tuner {

/// Estimates at one spot. Values are log(time / time of the best eligible variant), by variant.
struct SpotRatios {
  std::size_t spot = 0;  // index in Group::spots
  std::int64_t at = 0;
  double weight = 1;                // share of the workload, the mean is 1
  std::vector<std::size_t> blocks;  // of each variant: those that it shares with the reference
  std::vector<bool> usable;         // may be chosen there
  std::vector<bool> known;          // has an estimate (the yardstick too)
  std::vector<double> excess;       // log ratio to the best; 0 = the best
  std::vector<std::vector<double>> replicates;  // [replicate][variant], against the same best
  std::vector<double> controls;  // log ratio of the A/A control, of each block that has one
};
/// |median log ratio| of the A/A control, where there is one.
std::optional<double> noise_floor(const SpotRatios& spot);

/// One for each spot with a usable variant.
std::vector<SpotRatios> estimate(const Group& group, const DecideOptions& options);

/// Blocks that tell how two variants differ; at least 1.
std::size_t blocks_of_pair(const SpotRatios& spot, std::size_t a, std::size_t b);
/// Whether the variant's replicates vary: it is known there, and not beyond a factor of two.
bool has_spread(const SpotRatios& spot, std::size_t variant);

/// Position of a length on the axis that ratios are smooth over.
double log_axis(std::int64_t at);

/// Blocks that have both variants.
std::size_t shared_blocks(const Spot& spot, std::size_t a, std::size_t b);

}  // namespace nsa::tuner
