#include "nsa/page/slope.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "nsa/schemas/statistics/least_squares.hpp"

namespace nsa::page {

std::optional<Slope> log_log_slope(const std::vector<std::pair<double, double>>& points) {
  if (points.size() < 3) return std::nullopt;
  std::vector<double> lengths, times;
  for (const auto& [length, time] : points) {
    lengths.push_back(std::log(length));
    times.push_back(std::log(time));
  }
  const StraightLine line = straight_line(lengths, times);
  if (line.xx <= 0) return std::nullopt;
  const auto freedom = static_cast<double>(points.size() - 2);
  const double reach = boost::math::quantile(boost::math::students_t(freedom), 0.975) * line.error /
                       std::sqrt(line.xx);
  return Slope{line.slope, line.slope - reach, line.slope + reach,
               line.mean_y - line.slope * line.mean_x};
}

}  // namespace nsa::page
