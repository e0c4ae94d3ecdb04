// Shared memory of the attention kernels. Plain C++, so that a build without CUDA can say what a
// device supports; the kernels' files assert that they agree.
#pragma once

#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa::cuda {

/// Most shared memory that a block may ask for (CUDA C++ Programming Guide, technical
/// specifications per compute capability): 163 KB on 8.0 and 8.7, 227 KB on 9.0 and 10.x, else 99.
constexpr std::int64_t shared_bytes_per_block(int compute_capability) {
  const bool large = compute_capability >= 90 && compute_capability < 120;
  const bool medium = compute_capability == 80 || compute_capability == 87;
  return (large ? 227 : medium ? 163 : 99) * std::int64_t{1024};
}

/// Tile sizes of one kernel and storage type: see tile_mma.cuh and tile_simt.cuh.
struct TileSizes {
  std::int64_t rows, keys, element_bytes;
  std::int64_t qk_pad, v_pad;  // elements after each row
  std::int64_t scratch_bytes;
};
constexpr TileSizes masked_sizes(Dtype dtype) {
  if (dtype == Dtype::fp32)
    return {.rows = 64,
            .keys = 32,
            .element_bytes = 4,
            .qk_pad = 4,
            .v_pad = 0,
            .scratch_bytes = 64 * (32 + 4) * 4};
  return {.rows = 64, .keys = 64, .element_bytes = 2, .qk_pad = 8, .v_pad = 8, .scratch_bytes = 0};
}
constexpr TileSizes gather_sizes(Dtype dtype, std::int64_t padded_dv) {
  if (dtype == Dtype::fp32)
    return {.rows = 16,
            .keys = 32,
            .element_bytes = 4,
            .qk_pad = 4,
            .v_pad = 0,
            .scratch_bytes = 16 * (32 + 4) * 4};
  return {.rows = 16,
          .keys = 64,
          .element_bytes = 2,
          .qk_pad = 8,
          .v_pad = 8,
          .scratch_bytes = (16 * padded_dv + 4 * 16 * 2) * 4};
}
constexpr std::int64_t tile_bytes(const TileSizes& t, std::int64_t dk, std::int64_t padded_dv) {
  const std::int64_t padded_dk = (dk + 15) / 16 * 16;
  return ((t.rows + t.keys) * (padded_dk + t.qk_pad) + t.keys * (padded_dv + t.v_pad)) *
             t.element_bytes +
         t.scratch_bytes;
}

constexpr std::int64_t padded_width(std::int64_t dv) { return (dv + 63) / 64 * 64; }

}  // namespace nsa::cuda
