// The one median of the program: of samples, visits, ratios, steps and readings. A function of its
// argument alone: threads may call it at the same time.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "nsa/schemas/error.hpp"

namespace nsa {

/// The value in the middle; of an even count, half way between the two in the middle (for whole
/// numbers rounded towards the smaller). ContractError where there are no values.
template <class T>
T median(std::vector<T> values) {
  expects(!values.empty(), "a median of at least one value");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

/// The median distance of normal values from their median, times this, is their standard deviation.
inline constexpr double kToSigma = 1.4826;

}  // namespace nsa
