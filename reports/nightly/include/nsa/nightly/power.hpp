// How small a step the nightly check can see in a series, and what would help.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/nightly/judge.hpp"

namespace nsa::nightly {

/// Shares of the level: 0.02 is 2 %.
struct Power {
  std::string name;
  std::int64_t nights = 0;         // of the current level
  double replicates = 0;           // a night, on the average
  double night_sd = 0;             // of the nights within the level
  double replicate_sd = 0;         // of the replicates within a night; 0 with one a night
  std::optional<double> smallest;  // step found by night 3 in 80 of 100 cases
  std::optional<std::int64_t> nights_needed;      // after a step of `target`, until it is found so
  std::optional<std::int64_t> replicates_needed;  // a night, to find one of `target` by night 3
};

/// For series of positive values with options.warm_up nights of the current level or more; of the
/// others the figures are absent.
///
/// A step d after L nights of SD s is found on its night k where t = d / (s sqrt(1/L + 1/k)), a
/// noncentral Student t with L + k - 2 degrees of freedom, passes the critical t of L + k nights,
/// and where the step, as measured, is large enough to matter. A night's variance is that of its
/// level and that of the median of its r replicates (pi/2 replicate_sd^2 / r), so that more
/// replicates help only with the second part.
/// @param target  step for the last two figures
std::vector<Power> power_of(const std::vector<Series>& series, const Options& options,
                            double target = 0.03);

}  // namespace nsa::nightly
