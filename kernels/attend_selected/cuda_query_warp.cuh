// What a warp of `fused_query` does with a block on Hopper.
//
// A warp owns whole queries and turns the products around: logits^T = K q^T and o^T = V^T
// weights^T, so that keys and value columns fill the 16 rows of mma.m16n8k16 and the heads of one
// group its 8 columns. No row is wasted on padding a group of 6 heads to 16, and a block costs
// nothing for queries that did not choose it.
#pragma once

#include "cuda/attend_device.cuh"
#include "cuda/mma.cuh"
#include "cuda/numbers.cuh"

namespace nsa::cuda {

/// A warp's queries: their sums, in registers, and what a block adds to them.
template <class Sizes>
class QueryWarp {
  using T = typename Sizes::Storage;
  static constexpr int kDk = Sizes::kDk, kDv = Sizes::kDv, kTiles = Sizes::kTiles;
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
      logits<kFirst, kCount>(keys, s);
      std::uint32_t weights[kCount][kPass][kTiles][2];
#pragma unroll
      for (int c = 0; c < kCount; ++c) {
        if (visible[kFirst + c] < Sizes::kKeys) hide(s[c], visible[kFirst + c] - first_key);
        weigh<kFirst>(c, s[c], weights[c]);
      }
      accumulate<kFirst, kCount>(keys + Sizes::kKBytes, weights);
    }
  }

  /// s = K q^T: keys 16 m + g (+ 8), heads 8 n + 2 t (+ 1) of lane 4 g + t.
  template <int kFirst, int kCount>
  __device__ void logits(std::uint32_t k, float (&s)[kCount][kPass][kTiles][4]) const {
#pragma unroll
    for (int c = 0; c < kCount; ++c)
#pragma unroll
      for (int m = 0; m < kPass; ++m)
#pragma unroll
        for (int n = 0; n < kTiles; ++n)
#pragma unroll
          for (int e = 0; e < 4; ++e) s[c][m][n][e] = 0.0f;
    const std::uint32_t row = static_cast<std::uint32_t>(lane()) % 8;
    const std::uint32_t key_row = k + static_cast<std::uint32_t>(lane()) % 16 * 128;
    const std::uint32_t key_piece = (static_cast<std::uint32_t>(lane()) / 16 ^ row) << 4;
    const std::uint32_t q_row = queries_ + row * 128;
    const std::uint32_t q_piece = (static_cast<std::uint32_t>(lane()) / 8 ^ row) << 4;
#pragma unroll
    for (int d = 0; d < kDk / 32; ++d) {  // 32 columns: two steps
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

  __device__ static void hide(float (&s)[kPass][kTiles][4], int visible) {
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
    float largest[kTiles][2];
    bool passed = false;
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float x = fmaxf(s[0][n][e], s[0][n][e + 2]);
#pragma unroll
        for (int m = 1; m < kPass; ++m) x = fmaxf(x, fmaxf(s[m][n][e], s[m][n][e + 2]));
        largest[n][e] = x * scale_;
        passed |= largest[n][e] > reference_[kFirst + c][n][e] + kSlack;
      }
    if (__any_sync(0xffffffffu, passed)) raise<kFirst>(c, largest);
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

  /// Makes the largest logits of the block the references, where they are larger.
  template <int kFirst>
  __device__ void raise(int c, const float (&largest)[kTiles][2]) {
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float x = largest[n][e];
#pragma unroll
        for (int step = 4; step < 32; step *= 2)
          x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
        float& reference = reference_[kFirst + c][n][e];
        const float raised = fmaxf(x, reference);
        const float shrink = reference == -INFINITY ? 0.0f : exp2_fast(reference - raised);
        reference = raised;
        l_[kFirst + c][n][e] *= shrink;
#pragma unroll
        for (int m = 0; m < kDv / 16; ++m) {
          o_[kFirst + c][m][n][e] *= shrink;
          o_[kFirst + c][m][n][e + 2] *= shrink;
        }
      }
  }

  /// o^T += V^T weights^T: columns 16 m + g (+ 8) of V, heads 8 n + 2 t (+ 1).
  template <int kFirst, int kCount>
  __device__ void accumulate(std::uint32_t v,
                             const std::uint32_t (&weights)[kCount][kPass][kTiles][2]) {
    const std::uint32_t i = static_cast<std::uint32_t>(lane());
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
            mma_16x8x16<T>(o_[kFirst + c][m][n], a, weights[c][k][n][0], weights[c][k][n][1]);
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

  __device__ static float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }

  std::uint32_t queries_;  // of this warp, in shared memory: [kOwn][heads, dk]
  float scale_;
  float o_[kOwn][kDv / 16][kTiles][4];  // o^T
  float reference_[kOwn][kTiles][2];    // of head 8 n + 2 t + e, in log2 units
  float l_[kOwn][kTiles][2];            // sum of weights; this lane's share
};

}  // namespace nsa::cuda
