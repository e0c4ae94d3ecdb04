// How two runs differ, variant by variant. Pure.
#pragma once

#include <vector>

#include "nsa/tuner/observations.hpp"

namespace nsa::tuner {

/// One variant on one problem, in both runs.
struct ComparedTimes {
  const Problem* problem = nullptr;    // of the second run
  const VariantId* variant = nullptr;  // likewise
  double before_ns = 0, after_ns = 0;
  double ratio = 1, low = 0, high = 0;  // after / before with its 95 % interval
  /// The interval, corrected for the number of comparisons (Bonferroni, 5 %), excludes 1.
  bool differs = false;
};

/// What both have, in the order of the second: verified or not, but no controls, failures or wrong
/// results. Times are not paired over runs, so what a process adds to all of its times is part of
/// the interval; with one process in each run nothing is known of that, and nothing differs.
std::vector<ComparedTimes> compare_runs(const Observations& before, const Observations& after);

}  // namespace nsa::tuner
