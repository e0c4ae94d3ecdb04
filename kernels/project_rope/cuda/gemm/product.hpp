// Sizes of the product of all projections: plain C++, so that a build without CUDA knows them.
#pragma once

#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa::project_rope {

/// Tokens that are projected at a time: their product stays in a large GPU's L2.
inline constexpr std::int64_t kCudaTile = 8192;
/// Rotated pairs of a head that the kernel's table of frequencies holds.
inline constexpr std::int64_t kCudaMaxPairs = 256;

/// Columns of the product: all heads of q and of the three K and V.
inline std::int64_t projected_columns(const Problem& p) {
  return p.q_heads * p.head_dim_k + 3 * p.kv_heads * (p.head_dim_k + p.head_dim_v);
}

}  // namespace nsa::project_rope
