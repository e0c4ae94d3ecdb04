// How much slower each variant is than the best, at each problem, with replicates of the noise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "groups.hpp"
#include "noise.hpp"

namespace nsa::tuner {

/// Estimates at one point. Values are log(time / time of the best eligible variant), by variant;
/// below 0 for one that was not measured there and seems to be faster than the best that was.
struct LengthRatios {
  std::size_t point = 0;  // index in Group::points
  std::int64_t at = 0;
  double weight = 1;           // share of the workload, the mean is 1
  std::vector<bool> usable;    // may be chosen there
  std::vector<bool> known;     // has an estimate (the baseline too)
  std::vector<double> excess;  // log ratio to the best; 0 = the best
  std::vector<Spread> spread;  // of each excess
  /// [variant][replicate], against the same best. Nearly all of a point's memory, so its copies
  /// share them.
  std::vector<std::shared_ptr<const std::vector<double>>> replicates;
  /// The same ratios by each fresh process alone (by rounds in turn, where there was one process):
  /// [fold][variant], NaN = not seen. What is chosen by some can be judged by the others.
  std::vector<std::vector<double>> folds;
  std::optional<double> control;  // |log ratio| of the A/A control
  double reference_log_ns = 0;    // median of the variant that the others are paired with

  double replicate(std::size_t r, std::size_t variant) const { return (*replicates[variant])[r]; }
  std::size_t replicate_count() const { return replicates.empty() ? 0 : replicates[0]->size(); }
};

/// One for each point with a usable variant.
std::vector<LengthRatios> estimate(const std::vector<LengthPoint>& points,
                                   const DecideOptions& options, Weights weights = Weights::rounds);

/// Position of a length on the axis that ratios are smooth over.
double log_axis(std::int64_t at);

/// Blocks that have both variants.
std::size_t shared_blocks(const LengthPoint& point, std::size_t a, std::size_t b);

/// What choosing `variant` loses on average against the best one, as a share of time: the best is
/// picked by all folds but one and judged by that one, so that noise is no regret. May be below 0.
double regret_of(const LengthRatios& point, std::size_t variant);

}  // namespace nsa::tuner
