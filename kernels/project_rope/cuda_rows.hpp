// The CUDA rows of project_rope, known to a build without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::project_rope {

std::span<const Variant> cuda_rows();

using LaunchFunction = void (*)(const LaunchArgs&);
// Null in a build without CUDA (cuda_not_built.cpp).
extern const LaunchFunction kCudaFused;  // one kernel
extern const LaunchFunction kCudaGemm;
extern const LaunchFunction kCudaGemmTf32;   // the product by TF32 tensor cores
extern const LaunchFunction kCudaGemm16bit;  // the product in the outputs' dtype

/// Tokens that are projected at a time: their product stays in a large GPU's L2.
inline constexpr std::int64_t kCudaTile = 8192;
/// Rotated pairs of a head that the kernel's table of frequencies holds.
inline constexpr std::int64_t kCudaMaxPairs = 256;

/// Columns of the product: all heads of q and of the three K and V.
inline std::int64_t projected_columns(const Problem& p) {
  return p.q_heads * p.head_dim_k + 3 * p.kv_heads * (p.head_dim_k + p.head_dim_v);
}

}  // namespace nsa::project_rope
