// RoPE (docs/nsa.md 2) on a GPU, and the way from the product of all projections [tokens, columns]
// in fp32 or in their dtype to the seven tensors q, K and V. A block makes one table of sines for
// four tokens, in shared memory, and all heads read it. A thread takes the same columns of each of
// these tokens, so that four loads are under way at a time.
#include <type_traits>

#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/vectors.cuh"
#include "project_rope/cuda/gemm/rope_table.cuh"

namespace nsa::project_rope {
namespace {

constexpr int kThreads = kRopeThreads, kTokens = kRopeTokens;
constexpr int kAtOnce = 4;  // tokens whose loads are under way together

/// kWidth numbers of the product's row, and for one of an odd width the other of its pair.
template <int kWidth>
struct Columns {
  float numbers[kWidth];
  float other;
};

template <int kWidth, class P>
__device__ Columns<kWidth> load_columns(const P* row, int column) {
  Columns<kWidth> columns;
  columns.other = 0;
  constexpr int kAtATime = kWidth < cuda::kVectorOf<P> ? kWidth : cuda::kVectorOf<P>;
#pragma unroll
  for (int j = 0; j < kWidth; j += kAtATime) {
    float numbers[kAtATime];
    cuda::load_vector(row + column + j, numbers);
#pragma unroll
    for (int i = 0; i < kAtATime; ++i) columns.numbers[j + i] = numbers[i];
  }
  return columns;
}

/// Turns the pairs of the columns; `table` is that of their token.
template <int kWidth>
__device__ void rotate(Columns<kWidth>& x, int column, const float2* table) {
  if constexpr (kWidth == 1) {
    const float2 turn = table[column / 2];
    const float sine = column % 2 == 0 ? -turn.y : turn.y;
    x.numbers[0] = x.numbers[0] * turn.x + x.other * sine;
  } else {
#pragma unroll
    for (int j = 0; j < kWidth; j += 4) {
      const float4 turns = *reinterpret_cast<const float4*>(table + (column + j) / 2);
      turn_pair(x.numbers[j], x.numbers[j + 1], turns.x, turns.y);
      turn_pair(x.numbers[j + 2], x.numbers[j + 3], turns.z, turns.w);
    }
  }
}

/// The same columns of the tokens [first, first + kAtOnce), from the product to their place.
template <class T, class P, int kWidth>
__device__ void move_columns(const RopeParams& p, const RopePart& part, int head, int column,
                             std::int64_t first, const float2* table) {
  const P* from = static_cast<const P*>(p.product) + part.column + head * part.dim;
  Columns<kWidth> columns[kAtOnce];
#pragma unroll
  for (int t = 0; t < kAtOnce; ++t) {
    if (first + t >= p.count) break;
    const P* row = from + (first + t) * p.columns;
    columns[t] = load_columns<kWidth>(row, column);
    if (kWidth == 1 && part.rotated) columns[t].other = cuda::to_float(row[column ^ 1]);
  }
  T* to = static_cast<T*>(part.out) + (p.first_token + first) * part.row_stride +
          head * part.head_stride + column;
#pragma unroll
  for (int t = 0; t < kAtOnce; ++t) {
    if (first + t >= p.count) break;
    if (part.rotated) rotate(columns[t], column, table + t * p.pairs);
    cuda::store_vector(to + t * part.row_stride, columns[t].numbers);
  }
}

/// Outputs of T from a product of P.
template <class T, class P, int kWidth>
__global__ void __launch_bounds__(kThreads) rope_kernel(const __grid_constant__ RopeParams p) {
  auto* table = reinterpret_cast<float2*>(cuda::dynamic_shared());
  const std::int64_t first = blockIdx.x * std::int64_t{kTokens};
  fill_table(p, first, table);
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i * kWidth < p.columns; i += kThreads) {
    const RopePart& part = part_of(p, i * kWidth);
    if (!part.out) continue;
    const int in_part = i * kWidth - part.column;
    for (int t = 0; t < kTokens; t += kAtOnce) {
      move_columns<T, P, kWidth>(p, part, in_part / part.dim, in_part % part.dim, first + t,
                                 table + t * p.pairs);
    }
  }
}

}  // namespace

void rotate_and_spread(const RopeParams& p, Dtype dtype, CUstream_st* stream) {
  const std::int64_t blocks = (p.count + kTokens - 1) / kTokens;
  const std::size_t shared = static_cast<std::size_t>(kTokens * p.pairs) * sizeof(float2);
  cuda::with_storage_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    cuda::with_vector_width<T>(p.vectors, [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const auto kernel = p.rounded ? rope_kernel<T, T, kWidth> : rope_kernel<T, float, kWidth>;
      cuda::launch(kernel, blocks, kThreads, shared, stream, p);
    });
  });
}

}  // namespace nsa::project_rope
