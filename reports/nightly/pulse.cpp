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

/// The stretch that explains most, and more than `least`. No stretch sums to more than the range of
/// all sums, which leaves few lengths to look at where nothing is to be found.
Pulse largest_pulse(const std::vector<double>& sums, double least) {
  const std::size_t n = sums.size() - 1;
  const auto [low, high] = std::minmax_element(sums.begin(), sums.end());
  const double range = *high - *low, nights = static_cast<double>(n);
  Pulse best{0, 0, least};
  for (std::size_t length = kLeastPulse; length + 2 <= n && length <= kLongestPulse; ++length) {
    const double count = static_cast<double>(length), rest = nights - count;
    const double beaten = best.explained * (1 + 1e-9) * count * rest / nights;
    if (range * range <= beaten) continue;
    double most = 0;
    for (std::size_t i = 0; i + length <= n; ++i)
      most = std::max(most, std::abs(sums[i + length] - sums[i]));
    if (most * most <= beaten) continue;
    std::size_t begin = 0;  // the first one that is as large, but for rounding
    while (std::abs(sums[begin + length] - sums[begin]) < most * (1 - 1e-9)) ++begin;
    best = {begin, begin + length, most * most * nights / (count * rest)};
  }
  return best;
}

/// The t of which `alpha` is the chance, over the n^2 stretches of n nights.
double least_t(double nights, double alpha) {
  const boost::math::students_t student(nights - 2);
  return quantile(complement(student, alpha / (nights * nights)));
}

/// Sums of the first 0, 1, ... n of `data`.
std::vector<double> sums_of(std::span<const double> data) {
  std::vector<double> sums{0};
  sums.reserve(data.size() + 1);
  for (const double y : data) sums.push_back(sums.back() + y);
  return sums;
}

/// Squared t of a stretch against the rest; 0 where it does not move as a block.
double squared_t(std::span<const double> data, const Pulse& pulse, double sum, double squares,
                 double least_sd) {
  const double nights = static_cast<double>(data.size());
  const double inside = static_cast<double>(pulse.end - pulse.begin), outside = nights - inside;
  const double level = sum / inside, rest_level = -sum / outside, change = level - rest_level;
  if (!moves_as_block(data.subspan(pulse.begin, pulse.end - pulse.begin), rest_level, level))
    return 0;
  const double sd =
      std::max(std::sqrt(std::max(0.0, squares - pulse.explained) / (nights - 2)), least_sd);
  if (sd <= 1e-9 * std::abs(change)) return 0;
  std::vector<double> rest(data.begin(), data.end());
  for (std::size_t i = 0; i < data.size(); ++i)
    rest[i] -= i >= pulse.begin && i < pulse.end ? level : rest_level;
  const double rho = autocorrelation(rest, change);
  const double error2 = sd * sd * (1 + rho) / (1 - rho) * (1 / inside + 1 / outside);
  return change * change / error2;
}

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> find_pulse(std::span<const double> data,
                                                              double least_sd, double alpha) {
  if (data.size() < 2 * kLeastPulse) return std::nullopt;
  const double nights = static_cast<double>(data.size());
  double mean = 0, squares = 0;
  for (const double y : data) mean += y / nights;
  std::vector<double> centred(data.begin(), data.end());
  for (double& y : centred) {
    y -= mean;
    squares += y * y;
  }
  const std::vector<double> sums = sums_of(centred);
  const double t = least_t(nights, alpha), t2 = t * t;
  const double least = std::max(squares / (nights - 2 + t2), least_sd * least_sd) * t2;
  const Pulse pulse = largest_pulse(sums, least);
  if (pulse.end == 0) return std::nullopt;
  const double sum = sums[pulse.end] - sums[pulse.begin];
  if (squared_t(centred, pulse, sum, squares, least_sd) <= t2) return std::nullopt;
  return std::pair(pulse.begin, pulse.end);
}

}  // namespace nsa::nightly
