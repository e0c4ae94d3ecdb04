#include "statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

namespace nsa::tuner {

double quantile(std::vector<double> values, double share) {
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), below, values.end());
  const bool is_last = below + 1 == values.end();
  const double above = is_last ? *below : *std::min_element(below + 1, values.end());
  return std::lerp(*below, above, at - std::floor(at));
}

double student_quantile(double tail, double freedom) {
  return boost::math::quantile(boost::math::complement(boost::math::students_t(freedom), tail));
}

double student_factor(double tail, std::int64_t n) {
  return student_quantile(tail, static_cast<double>(n - 1));
}

double expanded_tail(double tail, std::int64_t n) {
  const auto units = static_cast<double>(n);
  const double z = student_factor(tail, n) * std::sqrt(units / (units - 1));
  return boost::math::cdf(boost::math::complement(boost::math::normal(), z));
}

namespace {

struct Quantiles {
  std::once_flag once;
  std::vector<double> values;
};

/// Quantiles of a freedom are asked for at each problem again, by whichever thread decides it, and
/// take much of the time of a decision: they are made once for all.
const std::vector<double>& student_quantiles(double freedom, std::size_t count) {
  static std::mutex mutex;
  static std::map<std::pair<double, std::size_t>, Quantiles> made;
  std::unique_lock lock(mutex);
  Quantiles& found = made[{freedom, count}];
  lock.unlock();
  std::call_once(found.once, [&] {
    const boost::math::students_t t(freedom);
    for (std::size_t i = 0; i < count; ++i) {
      found.values.push_back(
          boost::math::quantile(t, (static_cast<double>(i) + 0.5) / static_cast<double>(count)));
    }
  });
  return found.values;
}

}  // namespace

std::vector<double> student_draws(double freedom, std::size_t count, Random& random) {
  constexpr double kNearlyNormal = 200;
  const double whole = std::round(std::clamp(freedom, 1.0, kNearlyNormal));
  std::vector<double> draws = student_quantiles(whole, count);
  for (std::size_t i = draws.size(); i > 1; --i) std::swap(draws[i - 1], draws[random.below(i)]);
  return draws;
}

Interval interval_of(double estimate, const std::vector<double>& replicates, double tail) {
  if (replicates.empty()) return {estimate, estimate};
  return {std::min(estimate, quantile(replicates, tail)),
          std::max(estimate, quantile(replicates, 1 - tail))};
}

}  // namespace nsa::tuner
