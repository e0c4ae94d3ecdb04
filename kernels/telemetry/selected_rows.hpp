// Lengths of all rows of the selected branch in closed form: no loop over tokens.
#pragma once

#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa::telemetry {

/// Over the queries at positions 0 .. count-1: sum of their selected tokens.
std::int64_t selected_sum(std::int64_t count, const Geometry& geometry) noexcept;
/// How many of them select `tokens` tokens or fewer.
std::int64_t selected_at_most(std::int64_t tokens, std::int64_t count,
                              const Geometry& geometry) noexcept;

}  // namespace nsa::telemetry
