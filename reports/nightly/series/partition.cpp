#include "partition.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "split.hpp"

namespace nsa::nightly {
namespace {

constexpr std::size_t kLeastLevel = 3;      // nights between two steps
constexpr std::size_t kLongestLevel = 365;  // nights, but for the first; bounds the time it takes

/// Squares that a step has to explain, over the variance of the means of many nights.
double price_of_step(std::size_t size, double alpha) {
  const double nights = static_cast<double>(size);
  const boost::math::students_t student(nights - 2);
  const double t = quantile(complement(student, alpha / (nights * nights)));
  return t * t;
}

/// `data` less the means between its steps.
std::vector<double> less_levels(std::span<const double> data, std::span<const std::size_t> steps) {
  std::vector<double> rest(data.begin(), data.end());
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= steps.size(); ++i) {
    const std::size_t end = i < steps.size() ? steps[i] : data.size();
    const double mean = level_of(data.subspan(begin, end - begin)).mean;
    for (; begin < end; ++begin) rest[begin] -= mean;
  }
  return rest;
}

/// Sums of the first 0, 1, ... n of `data`, less their mean.
std::vector<double> centred_sums(std::span<const double> data) {
  const double mean = level_of(data).mean;
  std::vector<double> sums{0};
  sums.reserve(data.size() + 1);
  for (const double y : data) sums.push_back(sums.back() + (y - mean));
  return sums;
}

/// Optimal partitioning at a price of each step.
std::vector<std::size_t> partition_at(double price, std::span<const double> data) {
  const std::size_t n = data.size();
  const std::vector<double> sums = centred_sums(data);
  // What the levels of the first nights explain, less the steps between; where the last begins.
  std::vector<double> gain(n + 1, -std::numeric_limits<double>::infinity());
  std::vector<std::size_t> begin(n + 1, 0);
  for (std::size_t end = kLeastSide; end <= n; ++end) {
    gain[end] = sums[end] * sums[end] / static_cast<double>(end);
    const std::size_t least = end == n ? kLeastSide : kLeastLevel;
    const std::size_t first = std::max(kLeastSide, end - std::min(end, kLongestLevel));
    for (std::size_t at = first; at + least <= end; ++at) {
      const double sum = sums[end] - sums[at];
      const double with = gain[at] + sum * sum / static_cast<double>(end - at) - price;
      if (with <= gain[end] + 1e-9 * price) continue;
      gain[end] = with;
      begin[end] = at;
    }
  }
  std::vector<std::size_t> steps;
  for (std::size_t at = begin[n]; at > 0; at = begin[at]) steps.push_back(at);
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace

std::vector<std::size_t> best_partition(std::span<const double> data, double noise, double alpha) {
  if (data.size() < 2 * kLeastLevel || noise <= 0) return {};
  const double price = price_of_step(data.size(), alpha) * noise * noise;
  std::vector<std::size_t> steps = partition_at(price, data);
  const double rho = steps.empty() ? 0 : autocorrelation(less_levels(data, steps), noise);
  if (rho <= 0) return steps;
  // From the variance of differences to that of nights, and to that of means of many.
  return partition_at(price / (1 - rho) * (1 + rho) / (1 - rho), data);
}

}  // namespace nsa::nightly
