// Where the level of an epoch changed.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace nsa::nightly {

/// What a step needs to be one.
struct StepRule {
  double alpha = 1e-3;
  double least_change = 0.01;  // of the old level
  double least_sd = 0;         // within a level
  double noise = 0;            // of the whole series, from night to night
  double spike_share = 0;      // of the nights: a short side may be a run of them
  bool log_scale = true;
};

/// A step between the levels on both sides, which reach to the next steps.
struct Step {
  std::size_t at = 0;  // first datum of the new level
  double old_level = 0, new_level = 0;
  std::pair<double, double> interval{0, 0};  // 95 %, of new_level - old_level
  double p = 1;
};

/// A stretch between two steps may be too short to know its own noise: it is also judged with that
/// of the series, as a stretch of all its nights. A run of k spikes looks like a step of k nights:
/// n * spike_share^k is added to p, which asks for longer sides where nights often stand alone.
/// Binary segmentation while the best split has p < alpha; where it has not, the best partition may
/// still propose several steps at once, which hide one another from single splits; then backward
/// elimination: each step is judged again, and moved to the best place, between its neighbours.
/// Last, steps that are too small to matter go: under least_change, or not certain to be over half
/// a per cent. Positions count from the begin of `data`; ascending.
std::vector<Step> find_steps(std::span<const double> data, const StepRule& rule);

/// Whether a step is large enough for anybody to care: `least_change`, and certainly half a per
/// cent.
bool matters(const Step& step, const StepRule& rule);

/// Whether a difference of data is as large as `share` of the old level.
bool as_large_as(double difference, double old_level, double share, bool log_scale);

}  // namespace nsa::nightly
