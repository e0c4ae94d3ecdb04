// What kernels of RoPE share, forward and backward.
#pragma once

#include "cuda/flash/attend_device.cuh"
#include "project_rope/cuda/gemm/rope.hpp"

namespace nsa::project_rope {

inline constexpr int kRopeThreads = 192;
inline constexpr int kRopeTokens = 4;  // of a block: a thread takes the same columns of each

/// Cosine and sine of each (token of the block, pair). The angle is reduced to a turn in fp64: fp32
/// loses 4e-3 rad at position 65,536.
__device__ inline void fill_table(const RopeParams& p, std::int64_t first, float2* table) {
  constexpr double kTurn = 6.283185307179586476925286766559;
  for (int i = static_cast<int>(threadIdx.x); i < kRopeTokens * p.pairs; i += kRopeThreads) {
    const std::int64_t token = first + i / p.pairs;
    if (token >= p.count) return;
    const Sequence s = cuda::sequence_of_token(p.sequences, p.batch, p.first_token + token);
    const auto position =
        static_cast<double>(s.kv_len - s.q_len + p.first_token + token - s.q_begin);
    const double angle = position * p.frequencies[static_cast<std::size_t>(i % p.pairs)];
    const double reduced = angle - kTurn * rint(angle * (1.0 / kTurn));
    float2 turned;
    sincosf(static_cast<float>(reduced), &turned.y, &turned.x);
    table[i] = turned;
  }
}

__device__ inline void turn_pair(float& x0, float& x1, float cosine, float sine) {
  const float y0 = x0 * cosine - x1 * sine;
  x1 = x0 * sine + x1 * cosine;
  x0 = y0;
}

/// The part that holds a column of the product.
__device__ inline const RopePart& part_of(const RopeParams& p, int column) {
  int i = 0;
#pragma unroll
  for (int next = 1; next < 7; ++next) i += column >= p.parts[static_cast<unsigned>(next)].column;
  return p.parts[static_cast<unsigned>(i)];
}

}  // namespace nsa::project_rope
