// Products of a warpgroup's 64 rows with tiles in shared memory by WGMMA. A tile [64, kDim] is
// swizzled as sm90_shared.cuh says, and begins at a multiple of 1024 bytes.
#pragma once

#include "cuda/ptx/copy_async.cuh"
#include "cuda/ptx/numbers.cuh"
#include "cuda/ptx/sm90_shared.cuh"
#include "cuda/ptx/sm90_wgmma.cuh"

namespace nsa::cuda {

inline constexpr int kTileRows = 64;
template <int kDim>
inline constexpr std::uint32_t kSwizzledTile = kTileRows* kDim * 2;  // bytes

/// c = a b^T of a tile of 64 rows and the first of one of kRows, as many as c has columns, to be
/// committed: c[4 n + i] are the columns 8 n.. of the product.
template <class T, int kDim, int kRows = kTileRows, int kNumbers>
__device__ __forceinline__ void begin_rows_product(float (&c)[kNumbers], std::uint32_t a,
                                                   std::uint32_t b) {
  const sm90::MatrixDescriptor rows(a, 0), columns(b, 0);
#pragma unroll
  for (int d = 0; d < kDim / 16; ++d) {
    const int inside = d % 4 * 32;
    sm90::wgmma_shared<T>(c, rows.at(d / 4 * kTileRows * 128 + inside),
                          columns.at(d / 4 * kRows * 128 + inside), d > 0);
  }
}

/// c (+)= a b: a [64, 16 kSteps] as fragments, b the first rows of a tile of kRows; to be
/// committed. The fragments are not written before a wait.
template <class T, int kDim, int kRows = kTileRows, int kSteps>
__device__ __forceinline__ void begin_add_product(float (&c)[kDim / 2],
                                                  const std::uint32_t (&a)[kSteps][4],
                                                  std::uint32_t b, bool accumulate) {
  const sm90::MatrixDescriptor columns(b, kRows * 128);
#pragma unroll
  for (int i = 0; i < kSteps; ++i)
    sm90::wgmma_registers<T>(c, a[i], columns.at(i * 2048), accumulate || i > 0);
}

/// An accumulator [64, 16 kSteps] as fragments of an A operand.
template <class T, int kNumbers, int kSteps>
__device__ __forceinline__ void as_fragments(const float (&c)[kNumbers],
                                             std::uint32_t (&a)[kSteps][4]) {
  static_assert(kNumbers == 8 * kSteps);
#pragma unroll
  for (int i = 0; i < kSteps; ++i)
#pragma unroll
    for (int h = 0; h < 4; ++h) a[i][h] = pack_pair<T>(c[8 * i + 2 * h], c[8 * i + 2 * h + 1]);
}

/// Begins to copy a row of a tile, eight threads a row: `from` is where it begins, zeros where that
/// is null; `valid` is an address all the same.
template <class T, int kDim>
__device__ __forceinline__ void copy_tile_row(std::uint32_t tile, int row, const T* from,
                                              const T* valid) {
  const int piece = static_cast<int>(threadIdx.x) % 8;
#pragma unroll
  for (int c = 0; c < kDim / 8; c += 8)
    copy_async_16(tile + static_cast<std::uint32_t>(sm90::swizzled(kTileRows, row, c + piece)),
                  (from ? from : valid) + 8 * (c + piece), from != nullptr);
}

/// What this thread's copies wrote is there for the products after the next barrier.
__device__ inline void settle_copies() {
  wait_copies<0>();
  sm90::fence_shared();
}

}  // namespace nsa::cuda
