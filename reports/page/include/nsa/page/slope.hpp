// How the time of a variant grows with the length.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace nsa::page {

/// time ~ length^slope, by least squares on the logs.
struct Slope {
  double slope = 0, low = 0, high = 0;  // with its 95 % interval (Student t)
  double log_intercept = 0;             // natural log of the fitted time at length 1
};

/// @param points  (length, time), positive; nothing for fewer than three lengths
std::optional<Slope> log_log_slope(const std::vector<std::pair<double, double>>& points);

}  // namespace nsa::page
