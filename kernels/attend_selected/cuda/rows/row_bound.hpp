// How much the row-by-row path copies: plain C++, so that a build without CUDA knows it too.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa::cuda {

/// Most keys that a row can select: what its packed copy of K and V needs room for.
inline std::int64_t row_key_bound(const Problem& problem) {
  return std::min(problem.geometry.sel_count * problem.geometry.sel_block, problem.max_kv_len());
}

}  // namespace nsa::cuda
