#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nsa/schemas/error.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::trace {

/// A sum of durations of a hostile file may exceed 64 bits.
inline void add_to(std::int64_t& sum, std::int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum))
    throw InputError("the durations of the trace add up to more than 292 years");
}

inline void add_bytes(std::int64_t& sum, std::int64_t bytes) {
  if (__builtin_add_overflow(sum, bytes, &sum))
    throw InputError("the copies of the trace add up to more than 9e18 bytes");
}

/// The smallest value that is not below `percent` percent of all (nearest rank). Reorders `values`.
inline std::int64_t nearest_rank(std::vector<std::int64_t>& values, std::size_t percent) {
  const std::size_t rank = (values.size() * percent + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank == 0 ? 0 : rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// Figures of spans of one name, at least one. Reorders `durations`.
inline TimesByName times_by_name(const std::string& name, std::vector<std::int64_t>& durations) {
  TimesByName row{.name = name, .count = static_cast<std::int64_t>(durations.size())};
  for (const std::int64_t d : durations) add_to(row.total_ns, d);
  const auto [least, most] = std::minmax_element(durations.begin(), durations.end());
  row.min_ns = *least;
  row.max_ns = *most;
  row.median_ns = nearest_rank(durations, 50);
  return row;
}
inline bool larger_total(const TimesByName& a, const TimesByName& b) {
  return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
}

}  // namespace nsa::trace
