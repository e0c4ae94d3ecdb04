// Sizes of the product of all projections: plain C++, so that a build without CUDA knows them.
#pragma once

#include <cstdint>

namespace nsa::project_rope {

/// Tokens that are projected at a time: their product stays in a large GPU's L2.
inline constexpr std::int64_t kCudaTile = 8192;
/// Rotated pairs of a head that the kernel's table of frequencies holds.
inline constexpr std::int64_t kCudaMaxPairs = 256;

}  // namespace nsa::project_rope
