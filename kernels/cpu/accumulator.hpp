// The type that the CPU variants of the plain stages accumulate in: fp64 where storage is fp64,
// else fp32.
#pragma once

#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa {

/// Bytes of one number of it.
inline std::int64_t accumulator_bytes(const Problem& problem) {
  return problem.dtype == Dtype::fp64 ? 8 : 4;
}

/// Whether tensors of the problem's dtype are copied to it.
inline bool is_converted(const Problem& problem) {
  return accumulator_bytes(problem) != static_cast<std::int64_t>(size_of(problem.dtype));
}

/// Runs `body` with a zero of it: with_accumulator(dtype, [&](auto zero) { ... }).
template <class Body>
void with_accumulator(Dtype dtype, const Body& body) {
  if (dtype == Dtype::fp64) {
    body(double{});
  } else {
    body(float{});
  }
}

}  // namespace nsa
