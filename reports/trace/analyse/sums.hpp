#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nsa/schemas/error.hpp"

namespace nsa::trace {

/// A sum of durations of a hostile file may exceed 64 bits.
inline void add_to(std::int64_t& sum, std::int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum))
    throw InputError("the durations of the trace add up to more than 292 years");
}

/// The smallest value that is not below `percent` percent of all (nearest rank). Reorders `values`.
inline std::int64_t nearest_rank(std::vector<std::int64_t>& values, std::size_t percent) {
  const std::size_t rank = (values.size() * percent + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank == 0 ? 0 : rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace nsa::trace
