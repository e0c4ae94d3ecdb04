// A straight line through points, by least squares. Values are plain: threads may share one that
// none of them changes. Functions share nothing: threads may call them at the same time.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "nsa/schemas/error.hpp"

namespace nsa {

/// y = mean_y + slope (x - mean_x). Error of the slope: error / sqrt(xx), with n - 2 degrees of
/// freedom.
struct StraightLine {
  double mean_x = 0, mean_y = 0;
  double xx = 0;  // sum of (x - mean_x)^2; 0: all at one x, and there is no slope
  double slope = 0;
  double error = 0;  // standard deviation about the line
};

/// `x` and `y` are as long, three points or more, else ContractError.
inline StraightLine straight_line(std::span<const double> x, std::span<const double> y) {
  expects(x.size() == y.size() && x.size() >= 3, "three points or more");
  const auto n = static_cast<double>(x.size());
  StraightLine line;
  for (std::size_t i = 0; i < x.size(); ++i) {
    line.mean_x += x[i] / n;
    line.mean_y += y[i] / n;
  }
  double xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - line.mean_x, dy = y[i] - line.mean_y;
    line.xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  if (line.xx <= 0) return line;
  line.slope = xy / line.xx;
  line.error = std::sqrt(std::max(0.0, yy - line.slope * xy) / (n - 2));
  return line;
}

}  // namespace nsa
