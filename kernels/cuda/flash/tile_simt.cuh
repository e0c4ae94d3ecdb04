// The same tile in fp32 without tensor cores: TF32 would not hold the tolerance of fp32.
// Thread (r, c) with c = lane % 16 owns kThreadRows rows and, of these, every 16th key and every
// 16th group of four columns. A row's threads are the 16 of half a warp.
#pragma once

#include "cuda/flash/attend_device.cuh"

namespace nsa::cuda {

template <int kRowsOfTile, int kDv>
class SimtTile {
 public:
  using Storage = float;
  static constexpr int kRows = kRowsOfTile, kKeys = 32;
  static constexpr int kThreadRows = kRows == 16 ? 2 : 4;
  static constexpr int kThreads = kRows / kThreadRows * 16;
  static constexpr int kThreadKeys = kKeys / 16;
  static constexpr int kQuads = kDv / 64;  // groups of four columns per thread

  /// Padded by 16 bytes, so that eight rows lie in different banks.
  static constexpr int kPad = 4;
  __host__ __device__ static constexpr int padded_dk(int dk) { return (dk + 15) / 16 * 16; }
  __host__ __device__ static constexpr int qk_stride(int dk) { return padded_dk(dk) + kPad; }
  static constexpr int kVStride = kDv;
  static constexpr int kPaddedDv = kDv;
  __host__ __device__ static constexpr int q_elements(int dk) { return kRows * qk_stride(dk); }
  __host__ __device__ static constexpr int k_elements(int dk) { return kKeys * qk_stride(dk); }
  static constexpr int kVElements = kKeys * kVStride;
  static constexpr int kWeightStride = kKeys + 4;
  static constexpr int kScratchBytes = kRows * kWeightStride * 4;  // weights of a step

  __device__ SimtTile() {
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
      m_[i] = -INFINITY;
      l_[i] = 0.0f;
#pragma unroll
      for (int n = 0; n < kQuads; ++n) o_[i][n] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
  }

  template <class Visible>
  __device__ void step(const float* q, const float* k, const float* v, float* scratch, int dk,
                       float scale_log2, Visible visible) {
    float s[kThreadRows][kThreadKeys];
    logits(q, k, dk, s);
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
#pragma unroll
      for (int j = 0; j < kThreadKeys; ++j)
        s[i][j] = visible(row(i), key(j)) ? s[i][j] * scale_log2 : -INFINITY;
      weigh(s[i], i);
#pragma unroll
      for (int j = 0; j < kThreadKeys; ++j) scratch[row(i) * kWeightStride + key(j)] = s[i][j];
    }
    __syncwarp();
    accumulate(v, scratch);
    __syncwarp();  // the next step writes weights again
  }

  __device__ void finish(float*) {
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i)
#pragma unroll
      for (int lanes = 8; lanes > 0; lanes /= 2)
        l_[i] += __shfl_xor_sync(0xffffffffu, l_[i], lanes);
  }

  template <class Write, class WriteLse>
  __device__ void output(Write write, WriteLse write_lse) const {
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i) {
      const float inverse = l_[i] > 0.0f ? 1.0f / l_[i] : 0.0f;
#pragma unroll
      for (int n = 0; n < kQuads; ++n) {
        const int column = 64 * n + 4 * column_lane();
        write(row(i), column, o_[i][n].x * inverse);
        write(row(i), column + 1, o_[i][n].y * inverse);
        write(row(i), column + 2, o_[i][n].z * inverse);
        write(row(i), column + 3, o_[i][n].w * inverse);
      }
      if (column_lane() == 0)
        write_lse(row(i), l_[i] > 0.0f ? (m_[i] + log2f(l_[i])) * kLn2 : -INFINITY);
    }
  }

 private:
  __device__ static int column_lane() { return static_cast<int>(threadIdx.x) % 16; }
  __device__ static int row(int i) { return static_cast<int>(threadIdx.x) / 16 * kThreadRows + i; }
  __device__ static int key(int j) { return column_lane() + 16 * j; }
  __device__ static float4 quad_at(const float* p) { return *reinterpret_cast<const float4*>(p); }

  __device__ void logits(const float* q, const float* k, int dk,
                         float (&s)[kThreadRows][kThreadKeys]) const {
#pragma unroll
    for (int i = 0; i < kThreadRows; ++i)
#pragma unroll
      for (int j = 0; j < kThreadKeys; ++j) s[i][j] = 0.0f;
    const int stride = qk_stride(dk);
    for (int d = 0; d < padded_dk(dk); d += 4) {
      float4 keys[kThreadKeys];
#pragma unroll
      for (int j = 0; j < kThreadKeys; ++j) keys[j] = quad_at(k + key(j) * stride + d);
#pragma unroll
      for (int i = 0; i < kThreadRows; ++i) {
        const float4 a = quad_at(q + row(i) * stride + d);
#pragma unroll
        for (int j = 0; j < kThreadKeys; ++j) {
          s[i][j] = fmaf(a.x, keys[j].x, s[i][j]);
          s[i][j] = fmaf(a.y, keys[j].y, s[i][j]);
          s[i][j] = fmaf(a.z, keys[j].z, s[i][j]);
          s[i][j] = fmaf(a.w, keys[j].w, s[i][j]);
        }
      }
    }
  }

  __device__ void weigh(float (&s)[kThreadKeys], int i) {
    float row_max = m_[i];
#pragma unroll
    for (int j = 0; j < kThreadKeys; ++j) row_max = fmaxf(row_max, s[j]);
#pragma unroll
    for (int lanes = 8; lanes > 0; lanes /= 2)
      row_max = fmaxf(row_max, __shfl_xor_sync(0xffffffffu, row_max, lanes));
    const float reference = row_max == -INFINITY ? 0.0f : row_max;  // no key seen so far
    const float rescale = exp2f(m_[i] - reference);
    m_[i] = row_max;
    l_[i] *= rescale;
#pragma unroll
    for (int n = 0; n < kQuads; ++n) {
      o_[i][n].x *= rescale;
      o_[i][n].y *= rescale;
      o_[i][n].z *= rescale;
      o_[i][n].w *= rescale;
    }
#pragma unroll
    for (int j = 0; j < kThreadKeys; ++j) {
      s[j] = exp2f(s[j] - reference);
      l_[i] += s[j];
    }
  }

  __device__ void accumulate(const float* v, const float* weights) {
#pragma unroll 4
    for (int j = 0; j < kKeys; ++j) {
      float4 value[kQuads];
#pragma unroll
      for (int n = 0; n < kQuads; ++n)
        value[n] = quad_at(v + j * kVStride + 64 * n + 4 * column_lane());
#pragma unroll
      for (int i = 0; i < kThreadRows; ++i) {
        const float weight = weights[row(i) * kWeightStride + j];
#pragma unroll
        for (int n = 0; n < kQuads; ++n) {
          o_[i][n].x = fmaf(weight, value[n].x, o_[i][n].x);
          o_[i][n].y = fmaf(weight, value[n].y, o_[i][n].y);
          o_[i][n].z = fmaf(weight, value[n].z, o_[i][n].z);
          o_[i][n].w = fmaf(weight, value[n].w, o_[i][n].w);
        }
      }
    }
  }

  float4 o_[kThreadRows][kQuads];  // columns 64 n + 4 column_lane() ..
  float m_[kThreadRows];           // row max so far, in log2 units
  float l_[kThreadRows];           // sum of weights; this thread's share until finish()
};

}  // namespace nsa::cuda
