// The online softmax of the band on Hopper: what a thread does with the logits of a tile of keys.
// Weights are against a reference, a logit that the row has seen, which rises only when a logit
// passes it by a factor of 2^8: so the largest logit needs no exchange between threads in most
// tiles, and the sums are not scaled there.
#pragma once

#include "cuda/attend_device.cuh"
#include "cuda/exp2.cuh"
#include "cuda/mma.cuh"

namespace nsa::cuda {

/// Two rows, as one of their four threads sees them. s[4 n + 2 i + e] is row i, key
/// 8 n + 2 (lane % 4) + e of the tile.
template <class T, int kKeys, int kDv>
struct BandSoftmax {
  static_assert(kKeys == 64, "32 logits of a thread");
  /// By how much (log2) a logit may pass the reference: weights stay below 2^8, which fp16 holds.
  static constexpr float kSlack = 8.0f;

  float s[kKeys / 2];                       // logits, then weights
  std::uint32_t weights[kKeys / 16][4];     // as operands
  float o[kDv / 2];                         // weighted sum of V: column 8 n + 2 (lane % 4) + {0, 1}
  float reference[2] = {0.0f, 0.0f};        // of each row, in log2 units: what weights are against
  float limit[2] = {-INFINITY, -INFINITY};  // largest logit that needs no new reference
  bool raised = false;                      // by the last tile; then o has to shrink
  float shrink[2] = {1.0f, 1.0f};
  float l[2] = {0.0f, 0.0f};  // sum of weights; this thread's share

  /// Hides the keys before the first that a row sees, or those behind the last: `edges` of both
  /// rows. `first` is the tile's first key.
  template <bool kBefore>
  __device__ void hide(const int (&edges)[2], int first) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int edge = edges[i] - first - 2 * (lane % 4);
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          if (kBefore == (8 * n + e < edge)) s[4 * n + 2 * i + e] = -INFINITY;
        }
      }
    }
  }

  /// Turns the logits of a tile into weights against the references.
  __device__ void weigh(float scale_log2) {
    float largest[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      largest[i] = s[2 * i];
#pragma unroll
      for (int n = 0; n < 8; ++n)
        largest[i] = fmaxf(largest[i], fmaxf(s[4 * n + 2 * i], s[4 * n + 2 * i + 1]));
      largest[i] *= scale_log2;
    }
    raised = __any_sync(0xffffffffu, largest[0] > limit[0] || largest[1] > limit[1]) != 0;
    if (raised) raise(largest);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int c = 4 * n + 2 * i; c < 4 * n + 2 * i + 2; ++c) {
          s[c] = exp2_in_place(fmaf(s[c], scale_log2, -reference[i]));
          l[i] += s[c];
        }
      }
    }
  }

  /// Once the sum of the tiles before is there: scales it where a reference was raised, and makes
  /// the weights operands.
  __device__ void settle() {
    if (raised) {
#pragma unroll
      for (int n = 0; n < kDv / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 4; ++c) o[4 * n + c] *= shrink[c / 2];
      }
    }
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i) {
#pragma unroll
      for (int h = 0; h < 4; ++h)
        weights[i][h] = pack_pair<T>(s[8 * i + 2 * h], s[8 * i + 2 * h + 1]);
    }
  }

  /// Behind the last tile: the sums of the four threads of each row.
  __device__ void finish_sums() {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      l[i] += __shfl_xor_sync(0xffffffffu, l[i], 1);
      l[i] += __shfl_xor_sync(0xffffffffu, l[i], 2);
    }
  }
  /// What row i of o is to be multiplied by; 0 for a row that saw no key.
  __device__ float inverse_sum(int i) const { return l[i] == 0.0f ? 0.0f : __fdividef(1.0f, l[i]); }
  /// Log-sum-exp of row i, natural logarithm.
  __device__ float log_sum(int i) const {
    return l[i] == 0.0f ? -INFINITY : (reference[i] + log2f(l[i])) * kLn2;
  }

 private:
  /// Makes the largest logits of the tile the references, where they are larger. Rare: a logit may
  /// pass its reference by kSlack before that.
  __device__ void raise(const float (&largest)[2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float x = fmaxf(largest[i], __shfl_xor_sync(0xffffffffu, largest[i], 1));
      x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
      const bool first_key = limit[i] == -INFINITY;  // of this row
      shrink[i] = 1.0f;
      if (x == -INFINITY && first_key) continue;  // still none
      const float higher = first_key ? x : fmaxf(x, reference[i]);
      shrink[i] = first_key ? 0.0f : exp2_in_place(reference[i] - higher);
      reference[i] = higher;
      limit[i] = higher + kSlack;
      l[i] *= shrink[i];
    }
  }
};

}  // namespace nsa::cuda
