// What a block of the gate's backward pass holds in shared memory, and how it gets there. A warp
// makes all of its rows by itself; the block meets for the sums over rows alone.
#pragma once

#include "cuda/backward/gradient.cuh"
#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/programmatic_launch.cuh"
#include "gate_combine/cuda/gate_fused_backward/params.hpp"

namespace nsa::gate_combine {

inline constexpr int kRows = kBackwardRows, kThreads = kBackwardThreads, kWarps = kThreads / 32;
inline constexpr int kEach = kRows / kWarps;  // rows of a warp
static_assert(kEach == 2, "half a warp for a row");

/// kDk: columns of a key where they are known to the compiler, with half of them as hidden units;
/// 0 where the parameters say them.
template <int kDk>
struct Tile {
  /// Numbers of a row that are read together.
  static constexpr int kStep = kDk > 0 ? 4 : 1;

  float4* d_z;                     // [kRows]: gradients of the logits
  float *fc1, *fc1_b;              // [hidden, dk + 1], [hidden]
  float *fc2, *fc2_b;              // [3, hidden], [3]
  float *mean, *d_mean;            // [kRows, dk]
  float *before, *act, *d_before;  // [kRows, hidden]: of the activation, after it, its gradient

  __device__ Tile(const GateBackwardParams& p, unsigned char* memory)
      : dk_(p.dk), hidden_(p.hidden) {
    d_z = reinterpret_cast<float4*>(memory);
    fc1 = reinterpret_cast<float*>(d_z + kRows);
    fc1_b = fc1 + hidden() * (dk() + 1);
    fc2 = fc1_b + hidden();
    fc2_b = fc2 + 3 * hidden();
    mean = fc2_b + 4;
    d_mean = mean + kRows * dk();
    before = d_mean + kRows * dk();
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
#pragma unroll 8
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) f(i);
}

/// Where a thread stands: rows `rows` and `rows + 1` of the tile are its warp's, and `row` is that
/// of its half of the warp.
struct Place {
  int lane = static_cast<int>(threadIdx.x) % 32;
  int rows = static_cast<int>(threadIdx.x) / 32 * kEach;
  int row = rows + lane / 16, column = lane % 16;
};

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
        cuda::to_float(static_cast<const T*>(p.mlp.fc1_w)[unit * p.mlp.fc1_w_stride + column]);
  });
  for_each(3 * tile.hidden(), [&](int i) {
    const int branch = i / tile.hidden(), unit = i - branch * tile.hidden();
    tile.fc2[i] =
        cuda::to_float(static_cast<const T*>(p.mlp.fc2_w)[branch * p.mlp.fc2_w_stride + unit]);
  });
  for_each(tile.hidden(), [&](int i) {
    tile.fc1_b[i] = cuda::to_float(static_cast<const T*>(p.mlp.fc1_b)[i * p.mlp.fc1_b_stride]);
  });
  for_each(3, [&](int i) {
    tile.fc2_b[i] = cuda::to_float(static_cast<const T*>(p.mlp.fc2_b)[i * p.mlp.fc2_b_stride]);
  });
}

/// The mean of a group's queries, half a warp for a row; zeros past the last row.
template <class T, int kWidth, int kDk>
__device__ void make_means(const GateBackwardParams& p, const Tile<kDk>& tile, const Place& place,
                           std::int64_t first) {
  constexpr int kTogether = kDk == 128 ? 8 : 6;
  const bool there = first + place.row < p.rows;
  const GateRow row(p, there ? first + place.row : 0);
  for (int column = place.column * kWidth; column < tile.dk(); column += 16 * kWidth) {
    float sum[kWidth] = {};
#pragma unroll(kTogether)
    for (int h = 0; h < (there ? p.group : 0); ++h) {
      float q[kWidth];
      cuda::load_vector(cuda::head_row<const T>(p.q, row.token, row.first_head + h) + column, q);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) sum[j] += q[j];
    }
#pragma unroll
    for (int j = 0; j < kWidth; ++j)
      tile.mean[place.row * tile.dk() + column + j] = sum[j] / static_cast<float>(p.group);
  }
}

/// The hidden layer of the warp's rows, a unit for each lane.
template <int kDk>
__device__ void make_units(const Tile<kDk>& tile, const Place& place) {
  constexpr int kStep = Tile<kDk>::kStep;
  for (int unit = place.lane; unit < tile.hidden(); unit += 32) {
    float sum[kEach];
#pragma unroll
    for (int e = 0; e < kEach; ++e) sum[e] = tile.fc1_b[unit];
#pragma unroll 4
    for (int c = 0; c < tile.dk(); c += kStep) {
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        float mean[kStep];
        cuda::load_vector(tile.mean + (place.rows + e) * tile.dk() + c, mean);
#pragma unroll
        for (int j = 0; j < kStep; ++j)
          sum[e] = fmaf(tile.fc1[unit * (tile.dk() + 1) + c + j], mean[j], sum[e]);
      }
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int at = (place.rows + e) * tile.hidden() + unit;
      tile.before[at] = sum[e];
      tile.act[at] = sum[e] / (1.0f + expf(-sum[e]));
    }
  }
}

}  // namespace nsa::gate_combine
