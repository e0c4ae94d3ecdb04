// What a warp of `fused_query` does with a block on Hopper.
//
// A warp owns whole queries, one or two, and adds to their sums the blocks that they chose: the
// products of products.cuh around an online softmax. A block costs nothing for queries
// that did not choose it, and two queries of a warp share what is read of it.
#pragma once

#include "attend_selected/cuda/fused_query/products.cuh"
#include "cuda/flash/attend_device.cuh"
#include "cuda/ptx/exp2.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/ptx/numbers.cuh"

namespace nsa::cuda {

/// A warp's queries: their sums, in registers, and what a block adds to them.
template <class Sizes>
class QueryWarp {
  using T = typename Sizes::Storage;
  static constexpr int kDv = Sizes::kDv, kTiles = Sizes::kTiles;
  static constexpr int kOwn = Sizes::kQueriesOfWarp, kPass = Sizes::kPassTiles;
  /// By how much (log2) a logit may pass the reference before the sums are scaled anew: weights
  /// stay below 2^8, which fp16 holds.
  static constexpr float kSlack = 8.0f;

 public:
  __device__ QueryWarp(std::uint32_t queries, float scale_log2)
      : queries_(queries), scale_(scale_log2) {
#pragma unroll
    for (int c = 0; c < kOwn; ++c) {
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int m = 0; m < kDv / 16; ++m)
#pragma unroll
          for (int e = 0; e < 4; ++e) o_[c][m][n][e] = 0.0f;
#pragma unroll
        for (int e = 0; e < 2; ++e) reference_[c][n][e] = -INFINITY, l_[c][n][e] = 0.0f;
      }
    }
  }

  /// Adds a block for the queries whose bit is set. `visible[c]` keys of it are at or before
  /// query c.
  __device__ void add(unsigned bits, std::uint32_t stage, const int (&visible)[kOwn]) {
    if constexpr (kOwn == 1) {
      attend<0, 1>(stage, visible);
    } else {
      if (bits == 3) {
        attend<0, 2>(stage, visible);
      } else if (bits == 1) {
        attend<0, 1>(stage, visible);
      } else {
        attend<1, 1>(stage, visible);
      }
    }
  }

  /// Writes query c: `o` and `lse` are rows of its first head.
  __device__ void write(int c, T* o, std::int64_t head_stride, int dv, int group, float* lse,
                        std::int64_t lse_stride) {
#pragma unroll
    for (int query = 0; query < kOwn; ++query) {
      if (query == c) write_query(query, o, head_stride, dv, group, lse, lse_stride);
    }
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }

  template <int kFirst, int kCount>
  __device__ void attend(std::uint32_t stage, const int (&visible)[kOwn]) {
#pragma unroll 1
    for (int first_key = 0; first_key < Sizes::kKeys; first_key += 16 * kPass) {
      const std::uint32_t keys = stage + static_cast<std::uint32_t>(first_key) * 128;
      float s[kCount][kPass][kTiles][4];
      query_logits<Sizes, kFirst, kCount>(queries_, keys, s);
      std::uint32_t weights[kCount][kPass][kTiles][2];
#pragma unroll
      for (int c = 0; c < kCount; ++c) {
        if (visible[kFirst + c] < Sizes::kKeys) mask(s[c], visible[kFirst + c] - first_key);
        weigh<kFirst>(c, s[c], weights[c]);
      }
      add_values<Sizes, kFirst, kCount>(keys + Sizes::kKBytes, weights, o_);
    }
  }

  __device__ static void mask(float (&s)[kPass][kTiles][4], int visible) {
#pragma unroll
    for (int m = 0; m < kPass; ++m)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (16 * m + lane() / 4 + e / 2 * 8 < visible) continue;
#pragma unroll
        for (int n = 0; n < kTiles; ++n) s[m][n][e] = -INFINITY;
      }
  }

  /// Logits of query kFirst + c to weights against its reference, as operands of the next product.
  template <int kFirst>
  __device__ void weigh(int c, float (&s)[kPass][kTiles][4],
                        std::uint32_t (&weights)[kPass][kTiles][2]) {
    float row_max[kTiles][2];
    bool passed = false;
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float x = fmaxf(s[0][n][e], s[0][n][e + 2]);
#pragma unroll
        for (int m = 1; m < kPass; ++m) x = fmaxf(x, fmaxf(s[m][n][e], s[m][n][e + 2]));
        row_max[n][e] = x * scale_;
        passed |= row_max[n][e] > reference_[kFirst + c][n][e] + kSlack;
      }
    if (__any_sync(0xffffffffu, passed)) raise<kFirst>(c, row_max);
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
      for (int m = 0; m < kPass; ++m) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          s[m][n][e] = exp2_fast(fmaf(s[m][n][e], scale_, -reference_[kFirst + c][n][e % 2]));
          l_[kFirst + c][n][e % 2] += s[m][n][e];
        }
        weights[m][n][0] = transposed(pack_pair<T>(s[m][n][0], s[m][n][1]));
        weights[m][n][1] = transposed(pack_pair<T>(s[m][n][2], s[m][n][3]));
      }
    }
  }

  /// Makes the row maxs of the block the references, where they are larger.
  template <int kFirst>
  __device__ void raise(int c, const float (&row_max)[kTiles][2]) {
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float x = row_max[n][e];
#pragma unroll
        for (int step = 4; step < 32; step *= 2)
          x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
        float& reference = reference_[kFirst + c][n][e];
        const float raised = fmaxf(x, reference);
        const float rescale = reference == -INFINITY ? 0.0f : exp2_fast(reference - raised);
        reference = raised;
        l_[kFirst + c][n][e] *= rescale;
#pragma unroll
        for (int m = 0; m < kDv / 16; ++m) {
          o_[kFirst + c][m][n][e] *= rescale;
          o_[kFirst + c][m][n][e + 2] *= rescale;
        }
      }
  }

  __device__ void write_query(int c, T* o, std::int64_t head_stride, int dv, int group, float* lse,
                              std::int64_t lse_stride) {
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      float inverse[2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& sum = l_[c][n][e];
#pragma unroll
        for (int step = 4; step < 32; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        inverse[e] = sum == 0.0f ? 0.0f : __fdividef(1.0f, sum);
        const int head = 8 * n + lane() % 4 * 2 + e;
        if (lse && lane() < 4 && head < group)
          lse[head * lse_stride] =
              sum == 0.0f ? -INFINITY : (reference_[c][n][e] + log2f(sum)) * kLn2;
      }
      const int head = 8 * n + lane() / 4;
      T* row = o + head * head_stride + lane() % 4 * 2;
#pragma unroll
      for (int m = 0; m < kDv / 16; ++m)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const std::uint32_t pair = transposed(
              pack_pair<T>(o_[c][m][n][2 * h] * inverse[0], o_[c][m][n][2 * h + 1] * inverse[1]));
          if (head < group) *reinterpret_cast<std::uint32_t*>(row + 16 * m + 8 * h) = pair;
        }
    }
  }

  std::uint32_t queries_;  // of this warp, in shared memory: [kOwn][heads, dk]
  float scale_;
  float o_[kOwn][kDv / 16][kTiles][4];  // o^T
  float reference_[kOwn][kTiles][2];    // of head 8 n + 2 t + e, in log2 units
  float l_[kOwn][kTiles][2];            // sum of weights; this lane's share
};

}  // namespace nsa::cuda
