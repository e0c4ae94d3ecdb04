#include "null_table.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace nsa::nightly {
namespace {

constexpr double kLeastP = 1e-300;

double student_tail(double t, double freedom) {
  return cdf(complement(boost::math::students_t(freedom), t));
}

/// Past the last column: as Student's t with the degrees of freedom of two means.
double tail_log10(const NullRow& row, double t) {
  const double freedom = static_cast<double>(row.nights - 2);
  const double ratio = student_tail(t, freedom) / student_tail(row.t.back(), freedom);
  return std::log10(std::max(ratio, kLeastP)) - kTableStep * kTableColumns;
}

double log10_chance(const NullRow& row, double t) {
  const auto above = std::upper_bound(row.t.begin(), row.t.end(), t);
  if (above == row.t.end()) return tail_log10(row, t);
  const auto column = static_cast<double>(above - row.t.begin());
  const double left = above == row.t.begin() ? 0 : *(above - 1);
  return -kTableStep * (column + (t - left) / (*above - left));
}

}  // namespace

double chance_of_split(std::size_t nights, double t) {
  const auto rows = null_rows();
  if (nights < rows.front().nights || !(t > 0)) return 1;
  auto upper = std::lower_bound(rows.begin(), rows.end(), nights,
                                [](const NullRow& row, std::size_t n) { return row.nights < n; });
  if (upper != rows.end() && upper->nights == nights)
    return std::max(std::pow(10, log10_chance(*upper, t)), kLeastP);
  if (upper == rows.end()) {  // longer than the table: no more than in proportion
    const double longer = static_cast<double>(nights) / static_cast<double>(rows.back().nights);
    return std::min(1.0, longer * chance_of_split(rows.back().nights, t));
  }
  const NullRow &low = *(upper - 1), &high = *upper;
  const double share = std::log(static_cast<double>(nights) / static_cast<double>(low.nights)) /
                       std::log(static_cast<double>(high.nights) / static_cast<double>(low.nights));
  const double from = log10_chance(low, t);
  const double log10_p = from + share * (log10_chance(high, t) - from);
  return std::clamp(std::pow(10, log10_p), kLeastP, 1.0);
}

double critical_t(std::size_t nights, double p) {
  double low = 0, high = 1;
  while (chance_of_split(nights, high) > p && high < 1e9) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (chance_of_split(nights, middle) > p ? low : high) = middle;
  }
  return high;
}

}  // namespace nsa::nightly
