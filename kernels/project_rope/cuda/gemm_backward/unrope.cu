#include "project_rope/cuda/gemm_backward/unrope.hpp"

#include "cuda/launch/launch.cuh"
#include "cuda/ptx/vectors.cuh"
#include "project_rope/cuda/gemm/rope_table.cuh"

namespace nsa::project_rope {
namespace {

/// kWidth numbers of a gradient.
template <class T, int kWidth>
__device__ void load_gradient(const void* data, bool fp32, std::int64_t at, float (&to)[kWidth]) {
  if (!fp32) return cuda::load_vector(static_cast<const T*>(data) + at, to);
  constexpr int kAtATime = kWidth < 4 ? kWidth : 4;
#pragma unroll
  for (int j = 0; j < kWidth; j += kAtATime) {
    float numbers[kAtATime];
    cuda::load_vector(static_cast<const float*>(data) + at + j, numbers);
#pragma unroll
    for (int i = 0; i < kAtATime; ++i) to[j + i] = numbers[i];
  }
}

/// Turns the pairs of kWidth columns back; for one column, `other` is the other of its pair.
template <int kWidth>
__device__ void turn_back(float (&x)[kWidth], float other, int column, const float2* table) {
  if constexpr (kWidth == 1) {
    const float2 turn = table[column / 2];
    x[0] = x[0] * turn.x + other * (column % 2 == 0 ? turn.y : -turn.y);
  } else {
#pragma unroll
    for (int j = 0; j < kWidth; j += 2) {
      const float2 turn = table[(column + j) / 2];
      turn_pair(x[j], x[j + 1], turn.x, -turn.y);
    }
  }
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kRopeThreads)
    unrope_kernel(const __grid_constant__ UnropeParams p) {
  auto* table = reinterpret_cast<float2*>(cuda::dynamic_shared());
  const RopeParams& rope = p.rope;
  const std::int64_t first = blockIdx.x * std::int64_t{kRopeTokens};
  fill_table(rope, first, table);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i * kWidth < rope.columns; i += kRopeThreads) {
    const RopePart& part = part_of(rope, i * kWidth);
    const bool fp32 = p.fp32[static_cast<unsigned>(&part - &rope.parts[0])];
    const int in_part = i * kWidth - part.column;
    const int head = in_part / part.dim, column = in_part - head * part.dim;
#pragma unroll
    for (int t = 0; t < kRopeTokens; ++t) {
      if (first + t >= rope.count) break;
      float x[kWidth] = {}, other[1] = {};
      const std::int64_t row =
          (rope.first_token + first + t) * part.row_stride + head * part.head_stride;
      if (part.out) load_gradient<T>(part.out, fp32, row + column, x);
      if (kWidth == 1 && part.out && part.rotated)
        load_gradient<T>(part.out, fp32, row + (column ^ 1), other);
      if (part.rotated) turn_back(x, other[0], column, table + t * rope.pairs);
      cuda::store_vector(static_cast<T*>(p.product) + (first + t) * rope.columns + i * kWidth, x);
    }
  }
}

}  // namespace

void gather_and_unrotate(const UnropeParams& p, Dtype dtype, CUstream_st* stream) {
  const std::int64_t blocks = (p.rope.count + kRopeTokens - 1) / kRopeTokens;
  const std::size_t shared = static_cast<std::size_t>(kRopeTokens * p.rope.pairs) * sizeof(float2);
  cuda::with_storage_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    cuda::with_vector_width<T>(p.rope.vectors, [&](auto width) {
      cuda::launch(unrope_kernel<T, width()>, blocks, kRopeThreads, shared, stream, p);
    });
  });
}

}  // namespace nsa::project_rope
