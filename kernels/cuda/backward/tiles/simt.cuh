// The backward pass of attention without tensor cores: fp32, since TF32 would not hold its
// tolerance, and head dims that the tensor-core tiles do not hold. 256 threads, tiles of 32 keys.
// Operands are in shared memory in fp32, products in registers: a thread has the columns column() +
// 64 j of eight rows of its sums.
#pragma once

#include "cuda/backward/tiles/item_rows.cuh"
#include "cuda/flash/band.cuh"
#include "cuda/launch/launch.cuh"

namespace nsa::cuda {

template <class T, int kMostDim>
struct SimtSizes {
  using Storage = T;
  static constexpr int kWidth = kMostDim, kKeys = 32, kThreads = 256;
  static constexpr int kDk = kMostDim, kDv = kMostDim;
  static constexpr int kRows = kMostDim <= 128 ? 32 : 16;
  static constexpr int kStride = kMostDim + 4;  // of a tile's rows: eight lie in different banks
  static constexpr int kColumns = kMostDim / 64;
  static constexpr int kMostEntries = 1024;
  static constexpr std::size_t kBytes = (static_cast<std::size_t>(2 * (kKeys + kRows)) * kStride +
                                         2 * static_cast<std::size_t>(kRows) * kKeys) *
                                            4 +
                                        static_cast<std::size_t>(kRows) * 24;
};

template <class Sizes>
struct SimtShared {
  float *k, *v, *q, *d_o;  // [keys or rows, kStride]
  float *p, *d_s;          // [rows, keys]: weights, gradients of logits
  std::int64_t* place;     // [rows]
  float2* stats;
  int2* seen;

  __device__ explicit SimtShared(unsigned char* memory) {
    k = reinterpret_cast<float*>(memory);
    v = k + Sizes::kKeys * Sizes::kStride;
    q = v + Sizes::kKeys * Sizes::kStride;
    d_o = q + Sizes::kRows * Sizes::kStride;
    p = d_o + Sizes::kRows * Sizes::kStride;
    d_s = p + Sizes::kRows * Sizes::kKeys;
    place = reinterpret_cast<std::int64_t*>(d_s + Sizes::kRows * Sizes::kKeys);
    stats = reinterpret_cast<float2*>(place + Sizes::kRows);
    seen = reinterpret_cast<int2*>(stats + Sizes::kRows);
  }
};

__device__ inline int simt_column() { return static_cast<int>(threadIdx.x) % 64; }
__device__ inline int simt_group() { return static_cast<int>(threadIdx.x) / 64; }

/// Rows to shared memory in fp32; zeros past `dim` and where `source(row)` is null.
template <class Sizes, class Source>
__device__ void load_simt(float* tile, int rows, int dim, Source source) {
  using T = typename Sizes::Storage;
  for (int i = static_cast<int>(threadIdx.x); i < rows * Sizes::kWidth; i += Sizes::kThreads) {
    const int row = i / Sizes::kWidth, column = i % Sizes::kWidth;
    const T* from = source(row);
    tile[row * Sizes::kStride + column] = from && column < dim ? to_float(from[column]) : 0.0f;
  }
}

__device__ inline float dot_rows(const float* a, const float* b, int dim) {
  float sum = 0;
  for (int d = 0; d < dim; d += 4) {
    const float4 x = *reinterpret_cast<const float4*>(a + d);
    const float4 y = *reinterpret_cast<const float4*>(b + d);
    sum = fmaf(x.x, y.x, fmaf(x.y, y.y, fmaf(x.z, y.z, fmaf(x.w, y.w, sum))));
  }
  return sum;
}

/// Weights and gradients of logits of all rows and keys of the tiles, from `stats` and `seen`.
template <class Sizes>
__device__ void weigh_simt(const SimtShared<Sizes>& shared, int dk, int dv, float scale_log2) {
  const int key = static_cast<int>(threadIdx.x) % 32;
  for (int row = static_cast<int>(threadIdx.x) / 32; row < Sizes::kRows; row += 8) {
    const float s = dot_rows(shared.q + row * Sizes::kStride, shared.k + key * Sizes::kStride, dk);
    const float d_p =
        dot_rows(shared.d_o + row * Sizes::kStride, shared.v + key * Sizes::kStride, dv);
    const float2 stats = shared.stats[row];
    const int2 seen = shared.seen[row];
    const bool sees = key >= seen.x && key < seen.y;
    const float p = sees ? exp2f(fmaf(s, scale_log2, -stats.x)) : 0.0f;
    shared.p[row * Sizes::kKeys + key] = p;
    shared.d_s[row * Sizes::kKeys + key] = p * (d_p - stats.y);
  }
}

/// sums[i][j] += of the thread's key i: the sum over rows of weights[row, key] tile[row, column j].
template <class Sizes>
__device__ void add_rows_simt(float (&sums)[8][Sizes::kColumns], const float* weights,
                              const float* tile) {
  for (int row = 0; row < Sizes::kRows; ++row) {
    const float* w = weights + row * Sizes::kKeys + 8 * simt_group();
    const float4 first = *reinterpret_cast<const float4*>(w);
    const float4 second = *reinterpret_cast<const float4*>(w + 4);
    const float of_key[8] = {first.x,  first.y,  first.z,  first.w,
                             second.x, second.y, second.z, second.w};
#pragma unroll
    for (int j = 0; j < Sizes::kColumns; ++j) {
      const float x = tile[row * Sizes::kStride + simt_column() + 64 * j];
#pragma unroll
      for (int i = 0; i < 8; ++i) sums[i][j] = fmaf(of_key[i], x, sums[i][j]);
    }
  }
}

/// sums[i][j] += of the thread's row i: the sum over keys of weights[row, key] tile[key, column j].
template <class Sizes>
__device__ void add_keys_simt(float (&sums)[Sizes::kRows / 4][Sizes::kColumns],
                              const float* weights, const float* tile) {
  constexpr int kOwn = Sizes::kRows / 4;
  for (int key = 0; key < Sizes::kKeys; ++key) {
    float x[Sizes::kColumns];
#pragma unroll
    for (int j = 0; j < Sizes::kColumns; ++j)
      x[j] = tile[key * Sizes::kStride + simt_column() + 64 * j];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const float w = weights[(kOwn * simt_group() + i) * Sizes::kKeys + key];
#pragma unroll
      for (int j = 0; j < Sizes::kColumns; ++j) sums[i][j] = fmaf(w, x[j], sums[i][j]);
    }
  }
}

}  // namespace nsa::cuda
