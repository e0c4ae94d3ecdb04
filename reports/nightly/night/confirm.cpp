#include "confirm.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

#include "series/split.hpp"

namespace nsa::nightly {

std::optional<bool> is_confirmed(std::span<const std::pair<double, double>> old_and_new,
                                 double expected, bool log_scale, double unit) {
  std::vector<double> moved;  // towards what was found
  const double sign = expected > 0 ? 1 : -1;
  for (const auto& [from, to] : old_and_new) {
    const double y = log_scale ? std::log(to / from) : (to - from) / unit;
    if (std::isfinite(y)) moved.push_back(sign * y);
  }
  if (moved.size() < kPairs) return std::nullopt;
  const auto [n, mean, squares] = level_of(moved);
  if (mean <= 0 || mean < std::abs(expected) / 2) return false;
  const double error = std::sqrt(squares / (n - 1) / n);
  if (error <= 1e-9 * mean) return true;  // all pairs alike
  return cdf(complement(boost::math::students_t(n - 1), mean / error)) < 0.01;
}

}  // namespace nsa::nightly
