// A series as the statistics see it: one number for each night that has values.
#pragma once

#include <cstddef>
#include <vector>

#include "nsa/nightly/series.hpp"

namespace nsa::nightly {

/// On a log scale a datum is log(median / unit), on a linear one median / unit, so that no figure
/// below depends on the unit of the times.
struct Track {
  bool log_scale = true;  // all values are positive
  double unit = 1;
  double quantum_sd = 0;            // SD of rounding to the timer's quantum, in data
  std::vector<double> data;         // by night
  std::vector<std::size_t> nights;  // positions in Series::nights, of the same size as data
  std::vector<std::size_t> epochs;  // first datum of each epoch; the first is 0

  std::size_t epoch_begin() const { return epochs.empty() ? 0 : epochs.back(); }
};

/// Values that are NaN or infinite are none; a night without values has no datum.
Track track_of(const Series& series);

/// Median of the finite ones of `values`; false where there is none.
bool finite_median(const std::vector<double>& values, double& median);

}  // namespace nsa::nightly
