#include "statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numbers>

namespace nsa::tuner {

double Random::normal() {
  constexpr double kScale = 1.0 / 18446744073709551616.0;  // 2^-64
  const double u = (static_cast<double>(engine_()) + 1) * kScale;
  const double v = static_cast<double>(engine_()) * kScale;
  return std::sqrt(-2 * std::log(std::min(u, 1.0))) * std::cos(2 * std::numbers::pi * v);
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], at - static_cast<double>(below));
}

double student_factor(double tail, std::int64_t n) {
  const boost::math::students_t t(static_cast<double>(n - 1));
  return boost::math::quantile(boost::math::complement(t, tail));
}

double expanded_tail(double tail, std::int64_t n) {
  const auto units = static_cast<double>(n);
  const double z = student_factor(tail, n) * std::sqrt(units / (units - 1));
  return boost::math::cdf(boost::math::complement(boost::math::normal(), z));
}

double spread_of(double estimate, const std::vector<double>& replicates) {
  if (replicates.empty()) return 0;
  double squares = 0;
  for (const double value : replicates) squares += (value - estimate) * (value - estimate);
  return std::sqrt(squares / static_cast<double>(replicates.size()));
}

Interval interval_of(double estimate, const std::vector<double>& replicates, double tail,
                     std::size_t freedom, double least_spread) {
  if (replicates.empty()) return {estimate, estimate};
  const double spread = std::max(spread_of(estimate, replicates), least_spread);
  // Without a block to spare the spread is an assumed one, a normal.
  const auto units = freedom == 0 ? std::int64_t{1000} : static_cast<std::int64_t>(freedom) + 1;
  const double half = student_factor(tail, units) * spread;
  return {std::min(quantile(replicates, tail), estimate - half),
          std::max(quantile(replicates, 1 - tail), estimate + half)};
}

}  // namespace nsa::tuner
