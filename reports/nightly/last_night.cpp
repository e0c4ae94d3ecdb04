#include "last_night.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace nsa::nightly {
namespace {

constexpr double kSurprising = 1e-3;

/// How far to the worse side, in units of t; for `both` any side is.
double worse(double t, Better better) {
  if (better == Better::both) return std::abs(t);
  return better == Better::lower ? t : -t;
}

}  // namespace

std::optional<Surprise> last_night(std::span<const double> level, double least_sd,
                                   std::size_t fewest, Better better) {
  if (level.size() < std::max<std::size_t>(fewest, 2) + 1) return std::nullopt;
  const auto before = level.first(level.size() - 1);
  const double n = static_cast<double>(before.size());
  double mean = 0, squares = 0;
  for (const double y : before) mean += y / n;
  for (const double y : before) squares += (y - mean) * (y - mean);
  const double sd = std::max(std::sqrt(squares / (n - 1)), least_sd);
  const double difference = level.back() - mean;
  if (!(sd > 1e-9 * std::abs(difference))) return std::nullopt;
  const double t = worse(difference / (sd * std::sqrt(1 + 1 / n)), better);
  if (t <= 0) return std::nullopt;
  const double tail = cdf(complement(boost::math::students_t(n - 1), t));
  const double p = better == Better::both ? 2 * tail : tail;
  if (p >= kSurprising) return std::nullopt;
  return Surprise{mean, level.back(), p};
}

}  // namespace nsa::nightly
