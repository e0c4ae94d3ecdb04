// The least total cost that a table with so many switches can have: dynamic programming.
#pragma once

#include <cstddef>
#include <vector>

namespace nsa::tuner {

/// Index of the chosen variant at each spot.
using Table = std::vector<std::size_t>;

struct CoverInput {
  std::vector<std::vector<double>> cost;  // [spot][variant]; kForbidden or more = not possible
  std::vector<bool> may_switch;           // [spot]: a range may begin there (the first: ignored)
};
inline constexpr double kForbidden = 1e9;

/// The cheapest table for 0, 1, ..., max_switches switches at most. Among equals the variant that
/// comes first wins. Empty when there is no spot.
std::vector<Table> cheapest_tables(const CoverInput& input, std::size_t max_switches);
double cost_of(const CoverInput& input, const Table& table);

}  // namespace nsa::tuner
