#include "nsa/page/slope.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace nsa::page {

std::optional<Slope> log_log_slope(const std::vector<std::pair<double, double>>& points) {
  const auto n = static_cast<double>(points.size());
  if (points.size() < 3) return std::nullopt;
  double mean_x = 0, mean_y = 0;
  for (const auto& [length, time] : points) {
    mean_x += std::log(length) / n;
    mean_y += std::log(time) / n;
  }
  double xx = 0, xy = 0, yy = 0;
  for (const auto& [length, time] : points) {
    const double x = std::log(length) - mean_x, y = std::log(time) - mean_y;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  if (xx <= 0) return std::nullopt;
  const double slope = xy / xx;
  const double residual = std::max(0.0, yy - slope * xy);
  const double error = std::sqrt(residual / (n - 2) / xx);
  const double t = boost::math::quantile(boost::math::students_t(n - 2), 0.975);
  return Slope{slope, slope - t * error, slope + t * error, mean_y - slope * mean_x};
}

}  // namespace nsa::page
