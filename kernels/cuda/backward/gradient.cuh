// Writes of gradients: in the storage type or in fp32, over or on top of what is there.
#pragma once

#include "cuda/backward/params.hpp"
#include "cuda/ptx/vectors.cuh"

namespace nsa::cuda {

template <class T>
__device__ void put_gradient(const GradientTensor& tensor, std::int64_t at, float value) {
  if (tensor.fp32) {
    auto* to = static_cast<float*>(tensor.data) + at;
    *to = tensor.accumulate ? *to + value : value;
  } else {
    T* to = static_cast<T*>(tensor.data) + at;
    *to = from_float<T>(tensor.accumulate ? to_float(*to) + value : value);
  }
}

/// Columns `column` and `column + 1` of one head of a row, of `dim` columns.
template <class T>
__device__ void put_gradient_pair(const GradientTensor& tensor, std::int64_t row, std::int64_t head,
                                  int column, int dim, float first, float second) {
  const std::int64_t at = row * tensor.row_stride + head * tensor.head_stride + column;
  if (column < dim) put_gradient<T>(tensor, at, first);
  if (column + 1 < dim) put_gradient<T>(tensor, at + 1, second);
}

/// kWidth numbers from the element `at` on: of 16 bytes at most in the storage type, to an address
/// that is a multiple of their size there or in fp32.
template <class T, int kWidth>
__device__ void put_gradients(const GradientTensor& tensor, std::int64_t at,
                              const float (&values)[kWidth]) {
  if constexpr (kWidth == 1) {
    put_gradient<T>(tensor, at, values[0]);
  } else {
    float sum[kWidth];
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sum[i] = values[i];
    if (tensor.fp32) {
      auto* to = static_cast<float*>(tensor.data) + at;
#pragma unroll
      for (int i = 0; i < kWidth; i += 4) {
        float4 x = make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);
        auto* four = reinterpret_cast<float4*>(to + i);
        if (tensor.accumulate) {
          const float4 before = *four;
          x.x += before.x, x.y += before.y, x.z += before.z, x.w += before.w;
        }
        *four = x;
      }
      return;
    }
    T* to = static_cast<T*>(tensor.data) + at;
    if (tensor.accumulate) {
      float before[kWidth];
      load_vector(to, before);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) sum[i] += before[i];
    }
    store_vector(to, sum);
  }
}

/// Eight columns of a head, all of which exist: where they are, and what is there. Several pieces
/// are found before the first is put, so that no read waits for a write.
template <class T>
class GradientPiece {
 public:
  __device__ void find(const GradientTensor& tensor, std::int64_t row, std::int64_t head,
                       int column) {
    at_ = row * tensor.row_stride + head * tensor.head_stride + column;
    if (tensor.accumulate && in_vectors(tensor))
      before_ = *reinterpret_cast<const uint4*>(static_cast<const T*>(tensor.data) + at_);
  }
  /// `values`: from an address that is a multiple of 16 bytes.
  __device__ void put(const GradientTensor& tensor, const float* values) const {
    const float4 first = *reinterpret_cast<const float4*>(values);
    const float4 second = *reinterpret_cast<const float4*>(values + 4);
    float sum[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
    if (!in_vectors(tensor)) {
#pragma unroll
      for (int i = 0; i < 8; ++i) put_gradient<T>(tensor, at_ + i, sum[i]);
      return;
    }
    if (tensor.accumulate) {
      float before[8];
      unpack<T, 8>(before_, before);
#pragma unroll
      for (int i = 0; i < 8; ++i) sum[i] += before[i];
    }
    store_vector(static_cast<T*>(tensor.data) + at_, sum);
  }

 private:
  static_assert(sizeof(T) == 2);
  __device__ static bool in_vectors(const GradientTensor& tensor) {
    return tensor.vectors && !tensor.fp32;
  }
  std::int64_t at_ = 0;
  uint4 before_;
};

/// A row without keys has no weights: 2^(x - infinity) = 0.
__device__ inline float log2_sum_exp(float lse) {
  constexpr float kLog2e = 1.44269504088896341f;
  return lse == -INFINITY ? INFINITY : lse * kLog2e;
}

/// The keys of a band that the query at position t sees.
struct KeyRun {
  int begin, end;
};
__device__ inline KeyRun band_keys(const KeyBand& band, int t) {
  const int begin = t - band.window + 1;
  return {begin < 0 ? 0 : begin, t + 1 < band.block ? 0 : (t + 1 - band.block) / band.stride + 1};
}

}  // namespace nsa::cuda
