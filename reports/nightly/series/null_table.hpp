// How often a stretch of nights without a change has a split as good as a given one.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace nsa::nightly {

/// Steps of log10 p between the columns of the table; the first column is one step below p = 1.
constexpr double kTableStep = 0.25;
constexpr std::size_t kTableColumns = 20;  // to 1e-5

/// Of best_split_of_series, over normal nights without a change.
struct NullRow {
  std::size_t nights;
  std::array<double, kTableColumns> t;  // exceeded with the probability of the column
};

/// By nights; null_table_rows.cpp, written by the program make_null_table.
std::span<const NullRow> null_rows();

/// P(largest t >= t) over `nights` nights without a change: interpolated in log p over t and over
/// log nights; below the last column with the tail of Student's t.
double chance_of_split(std::size_t nights, double t);

/// The t that is exceeded with probability p.
double critical_t(std::size_t nights, double p);

}  // namespace nsa::nightly
