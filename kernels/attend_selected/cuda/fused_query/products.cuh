// The two products of `fused_query` on Hopper, by one warp. They are turned around, logits^T = K
// q^T and o^T = V^T weights^T, so that keys and value columns fill the 16 rows of mma.m16n8k16 and
// the heads of one group its 8 columns: no row is wasted on padding a group of 6 heads to 16. The
// tiles of wgmma, of 64 rows, would need a mask over queries that did not choose the block, and the
// tensor cores are not what limits this kernel (docs/results/README.md).
#pragma once

#include "cuda/ptx/mma.cuh"

namespace nsa::cuda {

/// s = K q^T of queries kFirst .. kFirst + kCount - 1 of the warp: keys 16 m + g (+ 8), heads
/// 8 n + 2 t (+ 1) of lane 4 g + t. `queries` [queries of the warp][heads, dk] and `k` [keys, dk]
/// lie in shared memory, swizzled.
template <class Sizes, int kFirst, int kCount>
__device__ void query_logits(std::uint32_t queries, std::uint32_t k,
                             float (&s)[kCount][Sizes::kPassTiles][Sizes::kTiles][4]) {
  using T = typename Sizes::Storage;
  constexpr int kTiles = Sizes::kTiles, kPass = Sizes::kPassTiles;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int c = 0; c < kCount; ++c)
#pragma unroll
    for (int m = 0; m < kPass; ++m)
#pragma unroll
      for (int n = 0; n < kTiles; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) s[c][m][n][e] = 0.0f;
  const std::uint32_t row = static_cast<std::uint32_t>(lane) % 8;
  const std::uint32_t key_row = k + static_cast<std::uint32_t>(lane) % 16 * 128;
  const std::uint32_t key_piece = (static_cast<std::uint32_t>(lane) / 16 ^ row) << 4;
  const std::uint32_t q_row = queries + row * 128;
  const std::uint32_t q_piece = (static_cast<std::uint32_t>(lane) / 8 ^ row) << 4;
#pragma unroll
  for (int d = 0; d < Sizes::kDk / 32; ++d) {  // 32 columns: two steps
    std::uint32_t b[kCount][kTiles][4];
#pragma unroll
    for (int c = 0; c < kCount; ++c)
#pragma unroll
      for (int n = 0; n < kTiles; ++n)
        load_matrices(b[c][n], q_row + (kFirst + c) * Sizes::kQueryBytes +
                                   d / 2 * Sizes::kHeads * 128 + n * 1024 +
                                   (d % 2 * 64u ^ q_piece));
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int m = 0; m < kPass; ++m) {
        std::uint32_t a[4];
        load_matrices(a, key_row + d / 2 * Sizes::kKeys * 128 + m * 2048 +
                             ((d % 2 * 64u + half * 32u) ^ key_piece));
#pragma unroll
        for (int c = 0; c < kCount; ++c)
#pragma unroll
          for (int n = 0; n < kTiles; ++n)
            mma_16x8x16<T>(s[c][m][n], a, b[c][n][2 * half], b[c][n][2 * half + 1]);
      }
    }
  }
}

/// o^T += V^T weights^T: columns 16 m + g (+ 8) of V, heads 8 n + 2 t (+ 1). `v` [keys, dv] lies
/// in shared memory, swizzled.
template <class Sizes, int kFirst, int kCount>
__device__ void add_values(
    std::uint32_t v, const std::uint32_t (&weights)[kCount][Sizes::kPassTiles][Sizes::kTiles][2],
    float (&o)[Sizes::kQueriesOfWarp][Sizes::kDv / 16][Sizes::kTiles][4]) {
  using T = typename Sizes::Storage;
  constexpr int kTiles = Sizes::kTiles, kPass = Sizes::kPassTiles, kDv = Sizes::kDv;
  const auto i = static_cast<std::uint32_t>(static_cast<int>(threadIdx.x) % 32);
  const std::uint32_t key_row = v + (i / 16 * 8 + i % 8) * 128;
  const std::uint32_t piece = (i / 8 % 2 ^ i % 8) << 4;
#pragma unroll
  for (int k = 0; k < kPass; ++k) {
#pragma unroll
    for (int m = 0; m < kDv / 16; ++m) {
      std::uint32_t a[4];
      load_matrices_transposed(
          a, key_row + m / 4 * Sizes::kKeys * 128 + k * 2048 + (m % 4 * 32u ^ piece));
#pragma unroll
      for (int c = 0; c < kCount; ++c)
#pragma unroll
        for (int n = 0; n < kTiles; ++n)
          mma_16x8x16<T>(o[kFirst + c][m][n], a, weights[c][k][n][0], weights[c][k][n][1]);
    }
  }
}

}  // namespace nsa::cuda
