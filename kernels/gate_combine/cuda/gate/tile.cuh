// The gate of a few rows by one warp (docs/nsa.md 8): mean queries and weights of hidden units in
// shared memory, a hidden unit per lane.
#pragma once

#include "cuda/flash/attend_params.hpp"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/vectors.cuh"
#include "gate_combine/cuda/gate/mlp.hpp"
#include "gate_combine/cuda/gate/sizes.hpp"

namespace nsa::cuda {

inline constexpr int kGateThreads = 32 * kGateWarps;

struct GateParams {
  HeadTensor<const void> q;          // [tokens, q_heads, dk]
  HeadTensor<const void> branch[3];  // [tokens, q_heads, dv]: cmp, sel, win; data may be null
  HeadTensor<void> o;                // [tokens, q_heads, dv]
  GateMlp mlp;
  float* gates;  // [tokens, kv_heads, 3]
  std::int64_t gates_row_stride, gates_head_stride;
  std::uint32_t rows;  // tokens x kv_heads: 32 bits, for a division takes ten times as long in 64
  std::uint32_t kv_heads;
  int group, dk, dv, hidden;
  bool unit_vectors;  // rows of fc1_w can be read four numbers at a time
  bool units_kept;    // a block keeps the weights of all hidden units in shared memory
  float inverse_tau, inverse_group;
  int force_branch;  // -1: none
  unsigned branches;
  bool uniform;
  float* means;    // [rows, dk]; of three_steps
  float* weights;  // [rows, 3]; of three_steps
};

/// The warp's part of shared memory: the three gates of each of kRows rows, means [dk, kRows]. The
/// block's: units [dk, kGateUnitStride], once or for every 32 units.
struct GateTile {
  float4* gates;
  float *means, *units;
};
template <int kRows>
__device__ GateTile gate_tile(const GateParams& p) {
  auto* gates = reinterpret_cast<float4*>(dynamic_shared());
  auto* floats = reinterpret_cast<float*>(gates + kGateWarps * kRows);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  return {gates + warp * kRows, floats + warp * p.dk * kRows, floats + kGateWarps * p.dk * kRows};
}

/// Mean of kWidth columns over the heads of a row's group.
template <class T, int kWidth>
__device__ void mean_query(const GateParams& p, std::uint32_t row, int column,
                           float (&mean)[kWidth]) {
  const std::int64_t token = row / p.kv_heads, first = std::int64_t{row % p.kv_heads} * p.group;
  const T* q =
      static_cast<const T*>(p.q.data) + token * p.q.row_stride + first * p.q.head_stride + column;
  constexpr int kHeads = 8;  // whose loads are under way together
#pragma unroll
  for (int j = 0; j < kWidth; ++j) mean[j] = 0;
  for (int begin = 0; begin < p.group; begin += kHeads) {
    BitsOf<T, kWidth> bits[kHeads];
#pragma unroll
    for (int head = 0; head < kHeads; ++head) {
      if (begin + head < p.group) {
        bits[head] =
            *reinterpret_cast<const BitsOf<T, kWidth>*>(q + (begin + head) * p.q.head_stride);
      }
    }
#pragma unroll
    for (int head = 0; head < kHeads; ++head) {
      if (begin + head >= p.group) continue;
      float numbers[kWidth];
      unpack<T, kWidth>(bits[head], numbers);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) mean[j] += numbers[j];
    }
  }
#pragma unroll
  for (int j = 0; j < kWidth; ++j) mean[j] *= p.inverse_group;
}

/// Mean queries of the warp's rows into the tile; zeros past the last row.
template <class T, int kWidth, int kRows>
__device__ void fill_means(const GateParams& p, std::uint32_t first, const GateTile& tile) {
  const int pieces = p.dk / kWidth;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < kRows * pieces; i += 32) {
    const int r = i / pieces, column = i % pieces * kWidth;
    float mean[kWidth] = {};
    const std::uint32_t row = first + static_cast<std::uint32_t>(r);
    if (row < p.rows) mean_query<T, kWidth>(p, row, column, mean);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) tile.means[(column + j) * kRows + r] = mean[j];
  }
}

/// Rows of fc1_w of the units [first, first + kGateUnits), columns outermost; zeros past the last
/// unit. By all threads of the block.
template <class T, int kWidth>
__device__ void fill_units(const GateParams& p, int first, float* units) {
  constexpr int kPieces = 2;  // whose loads are under way together
  const int pieces = p.dk / kWidth, all = kGateUnits * pieces;
  for (int begin = static_cast<int>(threadIdx.x); begin < all; begin += kPieces * kGateThreads) {
    BitsOf<T, kWidth> bits[kPieces] = {};
#pragma unroll
    for (int k = 0; k < kPieces; ++k) {
      const int i = begin + k * kGateThreads, unit = first + i / pieces;
      if (i >= all || unit >= p.hidden) continue;
      bits[k] = *reinterpret_cast<const BitsOf<T, kWidth>*>(
          static_cast<const T*>(p.mlp.fc1_w) + unit * p.mlp.fc1_w_stride + i % pieces * kWidth);
    }
#pragma unroll
    for (int k = 0; k < kPieces; ++k) {
      const int i = begin + k * kGateThreads;
      if (i >= all) continue;
      float w[kWidth];
      unpack<T, kWidth>(bits[k], w);
#pragma unroll
      for (int j = 0; j < kWidth; ++j)
        units[(i % pieces * kWidth + j) * kGateUnitStride + i / pieces] = w[j];
    }
  }
}

template <class T>
__device__ void fill_units(const GateParams& p, int first, float* units) {
  if (p.unit_vectors) {
    fill_units<T, 4>(p, first, units);
  } else {
    fill_units<T, 1>(p, first, units);
  }
}

/// Weights of all hidden units, for a block that keeps them. By whole blocks.
template <class T>
__device__ void keep_units(const GateParams& p, const GateTile& tile) {
  if (!p.units_kept) return;
  for (int first = 0; first < p.hidden; first += kGateUnits)
    fill_units<T>(p, first, tile.units + first / kGateUnits * p.dk * kGateUnitStride);
  __syncthreads();
}

/// What stands around a unit's dot product: its bias, its weights in the three logits.
struct UnitWeights {
  float bias = 0, logit[3] = {};
};
template <class T>
__device__ UnitWeights load_unit(const GateParams& p, int unit) {
  UnitWeights weights;
  if (unit >= p.hidden) return weights;
  weights.bias = to_float(static_cast<const T*>(p.mlp.fc1_b)[unit * p.mlp.fc1_b_stride]);
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    weights.logit[b] = to_float(static_cast<const T*>(p.mlp.fc2_w)[b * p.mlp.fc2_w_stride + unit]);
  }
  return weights;
}

/// Adds what the lane's unit gives to the logits of the warp's rows.
template <int kRows>
__device__ void add_unit(const GateParams& p, const UnitWeights& weights, const float* units,
                         const GateTile& tile, float (&z)[kRows][3]) {
  const float* unit = units + threadIdx.x % 32;
  float sum[kRows] = {};
#pragma unroll 8
  for (int c = 0; c < p.dk; ++c) {
    const auto means = *reinterpret_cast<const Vector<float, kRows>*>(tile.means + c * kRows);
    const float w = unit[c * kGateUnitStride];
#pragma unroll
    for (int r = 0; r < kRows; ++r) sum[r] += w * means.values[r];
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const float x = sum[r] + weights.bias;
    const float activated = __fdividef(x, 1.0f + __expf(-x));  // SiLU
#pragma unroll
    for (int b = 0; b < 3; ++b) z[r][b] += weights.logit[b] * activated;
  }
}

/// Sums over the lanes of the warp, all at once.
template <int kRows>
__device__ void sum_lanes(float (&z)[kRows][3]) {
#pragma unroll
  for (int other = 16; other > 0; other /= 2) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int b = 0; b < 3; ++b) z[r][b] += __shfl_xor_sync(0xffffffffu, z[r][b], other);
    }
  }
}

/// Logits of the warp's rows from the means in its tile, the same in every lane. By whole blocks.
template <class T, int kRows>
__device__ void make_logits(const GateParams& p, const GateTile& tile, float (&z)[kRows][3]) {
  float bias[3];
#pragma unroll
  for (int b = 0; b < 3; ++b)
    bias[b] = to_float(static_cast<const T*>(p.mlp.fc2_b)[b * p.mlp.fc2_b_stride]);
  for (int first = 0; first < p.hidden; first += kGateUnits) {
    const UnitWeights weights = load_unit<T>(p, first + static_cast<int>(threadIdx.x) % 32);
    float* units = tile.units;
    if (p.units_kept) {
      units += first / kGateUnits * p.dk * kGateUnitStride;
    } else {
      __syncthreads();  // the units before are no longer read
      fill_units<T>(p, first, units);
      __syncthreads();
    }
    add_unit<kRows>(p, weights, units, tile, z);
  }
  sum_lanes<kRows>(z);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int b = 0; b < 3; ++b) z[r][b] += bias[b];
  }
}

}  // namespace nsa::cuda
