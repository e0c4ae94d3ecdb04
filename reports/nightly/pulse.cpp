#include "pulse.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

#include "split.hpp"

namespace nsa::nightly {
namespace {

constexpr std::size_t kLeastPulse = 3, kLongestPulse = 365;

struct Pulse {
  std::size_t begin = 0, end = 0;
  double explained = 0;  // sum of squares between the stretch and the rest
};

/// The stretch that explains most. One division a length: the inner loop only looks for the largest
/// difference of two sums.
Pulse largest_pulse(const std::vector<double>& sums) {
  const std::size_t n = sums.size() - 1;
  Pulse best;
  for (std::size_t length = kLeastPulse; length + 2 <= n && length <= kLongestPulse; ++length) {
    double most = 0;
    for (std::size_t i = 0; i + length <= n; ++i)
      most = std::max(most, std::abs(sums[i + length] - sums[i]));
    const double count = static_cast<double>(length), nights = static_cast<double>(n);
    const double explained = most * most * nights / (count * (nights - count));
    if (explained <= best.explained * (1 + 1e-9)) continue;
    std::size_t begin = 0;  // the first one that is as large, but for rounding
    while (std::abs(sums[begin + length] - sums[begin]) < most * (1 - 1e-9)) ++begin;
    best = {begin, begin + length, explained};
  }
  return best;
}

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> find_pulse(std::span<const double> data,
                                                              double least_sd, double alpha) {
  const std::size_t n = data.size();
  if (n < 2 * kLeastPulse) return std::nullopt;
  const double nights = static_cast<double>(n);
  double mean = 0, squares = 0;
  for (const double y : data) mean += y / nights;
  std::vector<double> sums{0};
  for (const double y : data) {
    sums.push_back(sums.back() + y - mean);
    squares += (y - mean) * (y - mean);
  }
  const Pulse pulse = largest_pulse(sums);
  if (pulse.end == 0) return std::nullopt;
  const double inside = static_cast<double>(pulse.end - pulse.begin), outside = nights - inside;
  const double sum = sums[pulse.end] - sums[pulse.begin];
  const double level = mean + sum / inside, rest_level = mean - sum / outside;
  if (!moves_as_block(data.subspan(pulse.begin, pulse.end - pulse.begin), rest_level, level))
    return std::nullopt;
  const double sd =
      std::max(std::sqrt(std::max(0.0, squares - pulse.explained) / (nights - 2)), least_sd);
  if (sd <= 1e-9 * std::abs(level - rest_level)) return std::nullopt;
  std::vector<double> rest(data.begin(), data.end());
  for (std::size_t i = 0; i < n; ++i)
    rest[i] -= i >= pulse.begin && i < pulse.end ? level : rest_level;
  const double rho = autocorrelation(rest);
  const double error = sd * std::sqrt((1 + rho) / (1 - rho) * (1 / inside + 1 / outside));
  const double t = std::abs(level - rest_level) / error;
  const double p = nights * nights * cdf(complement(boost::math::students_t(nights - 2), t));
  if (p >= alpha) return std::nullopt;
  return std::pair(pulse.begin, pulse.end);
}

}  // namespace nsa::nightly
