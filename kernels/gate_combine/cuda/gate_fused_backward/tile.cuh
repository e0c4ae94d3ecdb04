// What a block of the gate's backward pass holds in shared memory, and how it gets there.
#pragma once

#include "cuda/backward/gradient.cuh"
#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"
#include "gate_combine/cuda/gate_fused_backward/params.hpp"

namespace nsa::gate_combine {

inline constexpr int kRows = kBackwardRows, kThreads = kBackwardThreads, kWarps = kThreads / 32;

/// kDk: columns of a key where they are known to the compiler, with half of them as hidden units;
/// 0 where the parameters say them.
template <int kDk>
struct Tile {
  float *fc1, *fc2;                // [hidden, dk + 1], [3, hidden]
  float* mean;                     // [kRows, dk]
  float *before, *act, *d_before;  // [kRows, hidden]: of the activation, behind it, its gradient
  float4* d_z;                     // [kRows]: gradients of the logits

  __device__ Tile(const GateBackwardParams& p, unsigned char* memory)
      : dk_(p.dk), hidden_(p.hidden) {
    d_z = reinterpret_cast<float4*>(memory);
    fc1 = reinterpret_cast<float*>(d_z + kRows);
    fc2 = fc1 + hidden() * (dk() + 1);
    mean = fc2 + 3 * hidden();
    before = mean + kRows * dk();
    act = before + kRows * hidden();
    d_before = act + kRows * hidden();
  }
  __device__ int dk() const {
    if constexpr (kDk > 0) return kDk;
    return dk_;
  }
  __device__ int hidden() const {
    if constexpr (kDk > 0) return kDk / 2;
    return hidden_;
  }

 private:
  int dk_, hidden_;
};

/// Calls f(i) for the numbers below `count`, shared among the block's threads.
template <class F>
__device__ void for_each(int count, F f) {
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) f(i);
}

/// A row of the tile is a token and a KV head.
struct GateRow {
  std::int64_t token, first_head;  // the first query head of the group

  __device__ GateRow(const GateBackwardParams& p, std::int64_t row) {
    const auto r = static_cast<unsigned>(row), heads = static_cast<unsigned>(p.kv_heads);
    token = r / heads;
    first_head = static_cast<std::int64_t>(r % heads) * p.group;
  }
};

template <class T, int kDk>
__device__ void load_weights(const GateBackwardParams& p, const Tile<kDk>& tile) {
  for_each(tile.hidden() * tile.dk(), [&](int i) {
    const int unit = i / tile.dk(), column = i - unit * tile.dk();
    tile.fc1[unit * (tile.dk() + 1) + column] =
        cuda::to_float(static_cast<const T*>(p.fc1_w)[unit * p.fc1_w_stride + column]);
  });
  for_each(3 * tile.hidden(), [&](int i) {
    const int branch = i / tile.hidden(), unit = i - branch * tile.hidden();
    tile.fc2[i] = cuda::to_float(static_cast<const T*>(p.fc2_w)[branch * p.fc2_w_stride + unit]);
  });
}

/// The mean of a group's queries; zeros behind the last row.
template <class T, int kWidth, int kDk>
__device__ void make_means(const GateBackwardParams& p, const Tile<kDk>& tile, std::int64_t first) {
  const int pieces = tile.dk() / kWidth;
  for_each(kRows * pieces, [&](int i) {
    const int r = i / pieces, column = (i - r * pieces) * kWidth;
    float sum[kWidth] = {};
    if (first + r < p.rows) {
      const GateRow row(p, first + r);
#pragma unroll 6
      for (int h = 0; h < p.group; ++h) {
        float q[kWidth];
        cuda::load_vector(cuda::head_row<const T>(p.q, row.token, row.first_head + h) + column, q);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) sum[j] += q[j];
      }
    }
#pragma unroll
    for (int j = 0; j < kWidth; ++j)
      tile.mean[r * tile.dk() + column + j] = sum[j] / static_cast<float>(p.group);
  });
}

template <class T, int kDk>
__device__ void make_units(const GateBackwardParams& p, const Tile<kDk>& tile) {
  for_each(kRows * tile.hidden(), [&](int i) {
    const int r = i / tile.hidden(), unit = i - r * tile.hidden();
    float sum = cuda::to_float(static_cast<const T*>(p.fc1_b)[unit * p.fc1_b_stride]);
#pragma unroll 32
    for (int c = 0; c < tile.dk(); ++c)
      sum = fmaf(tile.fc1[unit * (tile.dk() + 1) + c], tile.mean[r * tile.dk() + c], sum);
    tile.before[i] = sum;
    tile.act[i] = sum / (1.0f + expf(-sum));
  });
}

}  // namespace nsa::gate_combine
