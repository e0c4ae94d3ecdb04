// The online softmax of the band on Hopper: what a thread does with the logits of a tile of keys.
// Weights are against a reference, the row max of the tiles in which rows see their first
// key. In other tiles it rises only where weights become too large for their type, which their sum
// tells: so those do not look for their row max, and the sums are not scaled there.
#pragma once

#include <type_traits>

#include "cuda/flash/attend_device.cuh"
#include "cuda/ptx/exp2.cuh"
#include "cuda/ptx/mma.cuh"

namespace nsa::cuda {

/// Two rows, as one of their four threads sees them. s[4 n + 2 i + e] is row i, key
/// 8 n + 2 (lane % 4) + e of the tile.
template <class T, int kKeys, int kDv>
struct BandSoftmax {
  static_assert(kKeys == 64, "32 logits of a thread");
  /// Largest sum of a thread's weights of a tile: what the type of the weights holds, and where
  /// products with values stay far from the end of fp32.
  static constexpr float kMostSum = std::is_same_v<T, __half> ? 0x1p14f : 0x1p60f;

  float s[kKeys / 2];                    // logits, then weights
  std::uint32_t weights[kKeys / 16][4];  // as operands
  float o[kDv / 2];                      // weighted sum of V: column 8 n + 2 (lane % 4) + {0, 1}
  float reference[2];                    // of each row, in log2 units: what weights are against
  bool raised;                           // a reference, in the last tile; then o has to be rescaled
  float rescale[2];
  float l[2];  // sum of weights; this thread's share

  __device__ void start() {
#pragma unroll
    for (int i = 0; i < kDv / 2; ++i) o[i] = 0.0f;
#pragma unroll
    for (int i = 0; i < 2; ++i) reference[i] = l[i] = 0.0f;
    raised = false;
  }

  /// Masks the keys before the first that a row sees, or those past the last: `edges` of both
  /// rows. `first` is the tile's first key.
  template <bool kBefore>
  __device__ void mask(const int (&edges)[2], int first) {
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

  /// Makes the row maxs of the tile the references, where they are larger or the first: a row
  /// has `seen` keys before or not.
  __device__ void raise(const bool (&seen)[2], float scale_log2) {
    raised = true;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float x = s[2 * i];
#pragma unroll
      for (int n = 0; n < 8; ++n) x = fmaxf(x, fmaxf(s[4 * n + 2 * i], s[4 * n + 2 * i + 1]));
      x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
      // Rounded up, so that no weight is above 1: weigh() multiplies exactly, and with a reference
      // below the row max weights of huge ones would be too large again, for ever.
      x = __fmul_ru(fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2)), scale_log2);
      rescale[i] = 1.0f;
      if (x == -INFINITY && !seen[i]) continue;  // still none
      const float higher = seen[i] ? fmaxf(x, reference[i]) : x;
      rescale[i] = seen[i] ? exp2_in_place(reference[i] - higher) : 0.0f;
      reference[i] = higher;
      l[i] *= rescale[i];
    }
  }

  /// Turns the logits of a tile into weights against the references, and adds them to l. False
  /// where some of the warp were too large; then l is as before.
  __device__ bool weigh(float scale_log2) {
    float sum[2] = {0.0f, 0.0f}, odd[2] = {0.0f, 0.0f};  // two chains of additions a row
#pragma unroll
    for (int n = 0; n < 8; ++n) {
#pragma unroll
      for (int c = 4 * n; c < 4 * n + 4; ++c) {
        const int i = c / 2 % 2;
        s[c] = exp2_in_place(fmaf(s[c], scale_log2, -reference[i]));
        (c % 2 ? odd : sum)[i] += s[c];
      }
    }
    sum[0] += odd[0];
    sum[1] += odd[1];
    if (__any_sync(0xffffffffu, sum[0] > kMostSum || sum[1] > kMostSum)) return false;
    l[0] += sum[0];
    l[1] += sum[1];
    return true;
  }

  /// Once the sum of the tiles before is there: scales it where a reference was raised, and makes
  /// the weights operands.
  __device__ void settle() {
    if (raised) {
#pragma unroll
      for (int n = 0; n < kDv / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 4; ++c) o[4 * n + c] *= rescale[c / 2];
      }
      raised = false;
    }
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i) {
#pragma unroll
      for (int h = 0; h < 4; ++h)
        weights[i][h] = pack_pair<T>(s[8 * i + 2 * h], s[8 * i + 2 * h + 1]);
    }
  }

  /// After the last tile: the sums of the four threads of each row.
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
};

}  // namespace nsa::cuda
