// The least total cost that an assignment with so many switches can have: dynamic programming.
#pragma once

#include <cstddef>
#include <vector>

namespace nsa::tuner {

/// Index of the chosen variant at each point.
using Assignment = std::vector<std::size_t>;

struct SegmentationInput {
  std::vector<std::vector<double>> cost;  // [point][variant]; kForbidden or more = not possible
  std::vector<bool> may_switch;           // [point]: a range may begin there (the first: ignored)
};
inline constexpr double kForbidden = 1e9;

/// The cheapest assignment for 0, 1, ..., max_switches switches at most. Among equals the variant
/// that comes first wins. Empty when there is no point.
std::vector<Assignment> cheapest_assignments(const SegmentationInput& input,
                                             std::size_t max_switches);
double cost_of(const SegmentationInput& input, const Assignment& assignment);

}  // namespace nsa::tuner
