#include "last_night.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "split.hpp"

namespace nsa::nightly {
namespace {

constexpr double kSurprising = 1e-3;

/// How far to the worse side, in units of t; for `both` any side is.
double worse(double t, Better better) {
  if (better == Better::both) return std::abs(t);
  return better == Better::lower ? t : -t;
}

}  // namespace

std::optional<Step> surprising_night(std::span<const double> level, double least_sd,
                                     std::size_t fewest, Better better) {
  if (level.size() < std::max<std::size_t>(fewest, 2) + 1) return std::nullopt;
  const auto before = level.first(level.size() - 1);
  const auto [n, mean, squares] = level_of(before);
  const double sd = std::max(std::sqrt(squares / (n - 1)), least_sd);
  const double change = level.back() - mean;
  if (!(sd > 1e-9 * std::abs(change))) return std::nullopt;
  const double error = sd * std::sqrt(1 + 1 / n), t = worse(change / error, better);
  if (t <= 0) return std::nullopt;
  const boost::math::students_t student(n - 1);
  const double tail = cdf(complement(student, t));
  const double p = better == Better::both ? 2 * tail : tail;
  if (p >= kSurprising) return std::nullopt;
  const double reach = quantile(student, 0.975) * error;
  return Step{before.size(), mean, level.back(), {change - reach, change + reach}, p};
}

}  // namespace nsa::nightly
