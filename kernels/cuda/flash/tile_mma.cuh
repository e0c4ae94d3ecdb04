// A tile of query rows against tiles of 64 keys, by tensor cores, with an online softmax
// (FlashAttention-2, arXiv 2307.08691). 4 warps. With 64 rows each warp has 16 rows of its own and
// sees all keys; with 16 rows each warp sees 16 of the 64 keys, and the four are merged at the end.
#pragma once

#include "cuda/flash/attend_device.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/ptx/numbers.cuh"

namespace nsa::cuda {

template <class T, int kRowsOfTile, int kDv>
class MmaTile {
 public:
  using Storage = T;
  static constexpr int kRows = kRowsOfTile, kKeys = 64, kThreads = 128;
  static_assert(kRows == 16 || kRows == 64, "one row tile for all warps, or one for each");
  static constexpr bool kSplitKeys = kRows == 16;
  static constexpr int kWarpKeys = kSplitKeys ? 16 : 64;

  /// Rows are padded by 16 bytes, so that eight rows lie in different banks.
  static constexpr int kPad = 8;
  __host__ __device__ static constexpr int padded_dk(int dk) { return (dk + 15) / 16 * 16; }
  __host__ __device__ static constexpr int qk_stride(int dk) { return padded_dk(dk) + kPad; }
  static constexpr int kVStride = kDv + kPad;
  static constexpr int kPaddedDv = kDv;
  __host__ __device__ static constexpr int q_elements(int dk) { return kRows * qk_stride(dk); }
  __host__ __device__ static constexpr int k_elements(int dk) { return kKeys * qk_stride(dk); }
  static constexpr int kVElements = kKeys * kVStride;
  static constexpr int kScratchBytes = kSplitKeys ? (16 * kDv + 4 * 16 * 2) * 4 : 0;

  __device__ MmaTile() {
#pragma unroll
    for (int n = 0; n < kDv / 8; ++n)
#pragma unroll
      for (int c = 0; c < 4; ++c) o_[n][c] = 0.0f;
  }

  /// One tile of keys. `visible(row, key)` says whether a row of the tile sees a key of the tile.
  template <class Visible>
  __device__ void step(const T* q, const T* k, const T* v, float* /*scratch*/, int dk,
                       float scale_log2, Visible visible) {
    float s[kWarpKeys / 8][4];
    logits(q, k, dk, s);
#pragma unroll
    for (int j = 0; j < kWarpKeys / 8; ++j) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const bool seen = visible(row(c / 2), first_key() + 8 * j + 2 * pair() + c % 2);
        s[j][c] = seen ? s[j][c] * scale_log2 : -INFINITY;
      }
    }
    weigh(s, 0);
    weigh(s, 1);
    accumulate(v, s);
  }

  /// Sums over the threads that share rows; with split keys, over the warps too. `scratch` is
  /// kScratchBytes of shared memory. All threads call it; the result is in warp 0 where keys split.
  __device__ void finish(float* scratch) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      l_[i] += __shfl_xor_sync(0xffffffffu, l_[i], 1);
      l_[i] += __shfl_xor_sync(0xffffffffu, l_[i], 2);
    }
    if constexpr (kSplitKeys) merge(scratch);
  }

  /// After finish(): calls write(row, column, value) for the elements that this thread holds, and
  /// write_lse(row, lse) once per row. Rows without a key are zeros and -inf.
  template <class Write, class WriteLse>
  __device__ void output(Write write, WriteLse write_lse) const {
    if (kSplitKeys && warp() != 0) return;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float inverse = l_[i] > 0.0f ? 1.0f / l_[i] : 0.0f;
#pragma unroll
      for (int n = 0; n < kDv / 8; ++n) {
        write(row(i), 8 * n + 2 * pair(), o_[n][2 * i] * inverse);
        write(row(i), 8 * n + 2 * pair() + 1, o_[n][2 * i + 1] * inverse);
      }
      if (pair() == 0) write_lse(row(i), l_[i] > 0.0f ? (m_[i] + log2f(l_[i])) * kLn2 : -INFINITY);
    }
  }

 private:
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ static int pair() { return lane() % 4; }
  __device__ static int first_key() { return kSplitKeys ? 16 * warp() : 0; }
  __device__ static int first_row() { return kSplitKeys ? 0 : 16 * warp(); }
  /// Row of the tile of fragment half i (0 or 1).
  __device__ static int row(int i) { return first_row() + lane() / 4 + 8 * i; }

  __device__ static std::uint32_t pair_at(const T* p) {
    return *reinterpret_cast<const std::uint32_t*>(p);
  }

  /// s = q k^T for this warp's rows and keys.
  __device__ void logits(const T* q, const T* k, int dk, float (&s)[kWarpKeys / 8][4]) const {
#pragma unroll
    for (int j = 0; j < kWarpKeys / 8; ++j)
#pragma unroll
      for (int c = 0; c < 4; ++c) s[j][c] = 0.0f;
    const int stride = qk_stride(dk);
    const T* q_row = q + row(0) * stride + 2 * pair();
    const T* k_row = k + (first_key() + lane() / 4) * stride + 2 * pair();
    for (int d = 0; d < padded_dk(dk); d += 16) {
      const std::uint32_t a[4] = {pair_at(q_row + d), pair_at(q_row + 8 * stride + d),
                                  pair_at(q_row + d + 8), pair_at(q_row + 8 * stride + d + 8)};
#pragma unroll
      for (int j = 0; j < kWarpKeys / 8; ++j) {
        const T* key = k_row + 8 * j * stride + d;
        mma_16x8x16<T>(s[j], a, pair_at(key), pair_at(key + 8));
      }
    }
  }

  /// Turns the logits of fragment half i into weights against the new maximum.
  __device__ void weigh(float (&s)[kWarpKeys / 8][4], int i) {
    float row_max = m_[i];
#pragma unroll
    for (int j = 0; j < kWarpKeys / 8; ++j)
      row_max = fmaxf(row_max, fmaxf(s[j][2 * i], s[j][2 * i + 1]));
    row_max = fmaxf(row_max, __shfl_xor_sync(0xffffffffu, row_max, 1));
    row_max = fmaxf(row_max, __shfl_xor_sync(0xffffffffu, row_max, 2));
    const float reference = row_max == -INFINITY ? 0.0f : row_max;  // no key seen so far
    const float rescale = exp2f(m_[i] - reference);
    m_[i] = row_max;
    l_[i] *= rescale;
#pragma unroll
    for (int n = 0; n < kDv / 8; ++n) {
      o_[n][2 * i] *= rescale;
      o_[n][2 * i + 1] *= rescale;
    }
#pragma unroll
    for (int j = 0; j < kWarpKeys / 8; ++j) {
#pragma unroll
      for (int c = 2 * i; c < 2 * i + 2; ++c) {
        s[j][c] = exp2f(s[j][c] - reference);
        l_[i] += s[j][c];
      }
    }
  }

  /// o += weights v: the weights' accumulator layout is the layout of an A operand.
  __device__ void accumulate(const T* v, const float (&s)[kWarpKeys / 8][4]) {
#pragma unroll
    for (int kk = 0; kk < kWarpKeys / 16; ++kk) {
      const std::uint32_t a[4] = {pack_pair<T>(s[2 * kk][0], s[2 * kk][1]),
                                  pack_pair<T>(s[2 * kk][2], s[2 * kk][3]),
                                  pack_pair<T>(s[2 * kk + 1][0], s[2 * kk + 1][1]),
                                  pack_pair<T>(s[2 * kk + 1][2], s[2 * kk + 1][3])};
      const T* from = v + (first_key() + 16 * kk + lane() % 16) * kVStride + lane() / 16 * 8;
#pragma unroll
      for (int n = 0; n < kDv / 8; n += 2) {
        std::uint32_t b[4];
        load_matrices_transposed(b, from + 8 * n);
        mma_16x8x16<T>(o_[n], a, b[0], b[1]);
        mma_16x8x16<T>(o_[n + 1], a, b[2], b[3]);
      }
    }
  }

  /// Adds the four warps' sums into those of warp 0, in the order of the warps, so that the result
  /// is the same every time.
  __device__ void merge(float* scratch) {
    float* maxima = scratch + 16 * kDv;  // [4 warps, 16 rows]
    float* sums = maxima + 4 * 16;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (pair() != 0) continue;
      maxima[warp() * 16 + row(i)] = m_[i];
      sums[warp() * 16 + row(i)] = l_[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float row_max = -INFINITY, sum = 0.0f;
#pragma unroll
      for (int w = 0; w < 4; ++w) row_max = fmaxf(row_max, maxima[w * 16 + row(i)]);
      const float reference = row_max == -INFINITY ? 0.0f : row_max;
#pragma unroll
      for (int w = 0; w < 4; ++w)
        sum += sums[w * 16 + row(i)] * exp2f(maxima[w * 16 + row(i)] - reference);
      const float rescale = exp2f(m_[i] - reference);
#pragma unroll
      for (int n = 0; n < kDv / 8; ++n) {
        o_[n][2 * i] *= rescale;
        o_[n][2 * i + 1] *= rescale;
      }
      m_[i] = row_max;
      l_[i] = sum;
    }
#pragma unroll
    for (int w = 1; w < 4; ++w) {
      if (warp() == w) exchange(scratch, [](float& shared, float own) { shared = own; });
      __syncthreads();
      if (warp() == 0) exchange(scratch, [](float& shared, float& own) { own += shared; });
      __syncthreads();
    }
  }

  template <class F>
  __device__ void exchange(float* scratch, F f) {
#pragma unroll
    for (int n = 0; n < kDv / 8; ++n)
#pragma unroll
      for (int c = 0; c < 4; ++c)
        f(scratch[row(c / 2) * kDv + 8 * n + 2 * pair() + c % 2], o_[n][c]);
  }

  float o_[kDv / 8][4];                  // rows row(0) and row(1), columns 8 n + 2 pair() + {0, 1}
  float m_[2] = {-INFINITY, -INFINITY};  // row max so far, in log2 units
  float l_[2] = {0.0f, 0.0f};            // sum of weights; this thread's share until finish()
};

}  // namespace nsa::cuda
