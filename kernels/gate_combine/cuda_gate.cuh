// The gate on the device (docs/nsa.md 8): a block of threads takes 16 rows, one (token, KV head)
// per lane of half a warp. Each step reads its operands from shared memory or from tensors, so that
// one kernel or three can be made of them.
#pragma once

#include <cmath>

#include "cuda/attend_params.hpp"
#include "cuda/launch.cuh"
#include "cuda/vectors.cuh"
#include "gate_combine/cuda_tile.hpp"

namespace nsa::cuda {

inline constexpr int kGateThreads = 32 * kGateWarps;

struct GateParams {
  HeadTensor<const void> q;          // [tokens, q_heads, dk]
  HeadTensor<const void> branch[3];  // [tokens, q_heads, dv]: cmp, sel, win; data may be null
  HeadTensor<void> o;                // [tokens, q_heads, dv]
  const void *fc1_w, *fc1_b, *fc2_w, *fc2_b;
  std::int64_t fc1_w_stride, fc1_b_stride, fc2_w_stride, fc2_b_stride;  // of dimension 0
  float* gates;                                                         // [tokens, kv_heads, 3]
  std::int64_t gates_row_stride, gates_head_stride;
  std::int64_t rows;  // tokens x kv_heads
  int kv_heads, group, dk, dv, hidden;
  bool unit_vectors;  // rows of fc1_w can be read 16 bytes at a time
  float inverse_tau;
  int force_branch;  // -1: none
  unsigned branches;
  bool uniform;
  float* means;    // [rows, dk]; of three_steps
  float* weights;  // [rows, 3]; of three_steps
};

/// The parts of a block's shared memory.
struct GateTile {
  float* means;    // [kGateRows, stride]
  float* units;    // [kGateUnits, stride]
  float* around;   // [4, kGateUnits]: fc1_b, the three rows of fc2_w
  float* partial;  // [half warps, kGateRows, 3]
  float* gates;    // [kGateRows, 3]
  int stride;
};
__device__ inline GateTile gate_tile(const GateParams& p) {
  auto* floats = reinterpret_cast<float*>(dynamic_shared());
  const int stride = gate_stride(p.dk);
  float* units = floats + kGateRows * stride;
  float* around = units + kGateUnits * stride;
  float* partial = around + 4 * kGateUnits;
  return {floats, units, around, partial, partial + 2 * kGateWarps * kGateRows * 3, stride};
}

/// Mean of kWidth columns over the heads of a row's group.
template <class T, int kWidth>
__device__ void mean_query(const GateParams& p, std::int64_t row, int column,
                           float (&mean)[kWidth]) {
  const std::int64_t token = row / p.kv_heads, first = row % p.kv_heads * p.group;
  const T* q =
      static_cast<const T*>(p.q.data) + token * p.q.row_stride + first * p.q.head_stride + column;
#pragma unroll
  for (int j = 0; j < kWidth; ++j) mean[j] = 0;
  for (int head = 0; head < p.group; ++head) {
    float numbers[kWidth];
    load_vector(q + head * p.q.head_stride, numbers);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) mean[j] += numbers[j];
  }
#pragma unroll
  for (int j = 0; j < kWidth; ++j) mean[j] /= static_cast<float>(p.group);
}

/// Mean queries of the block's rows into the tile; zeros behind the last row and column.
template <class T, int kWidth>
__device__ void fill_means(const GateParams& p, std::int64_t first, const GateTile& tile) {
  const int pieces = p.dk / kWidth;
  for (int i = static_cast<int>(threadIdx.x); i < kGateRows * pieces; i += kGateThreads) {
    const int r = i / pieces, column = i % pieces * kWidth;
    float mean[kWidth] = {};
    if (first + r < p.rows) mean_query<T, kWidth>(p, first + r, column, mean);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) tile.means[r * tile.stride + column + j] = mean[j];
  }
  for (int i = static_cast<int>(threadIdx.x); i < kGateRows * 4; i += kGateThreads) {
    const int column = p.dk + i % 4;
    if (column < tile.stride) tile.means[i / 4 * tile.stride + column] = 0;
  }
}

/// kWidth columns of each unit's row of fc1_w into the tile.
template <class T, int kWidth>
__device__ void fill_fc1(const GateParams& p, int first, const GateTile& tile) {
  const int pieces = tile.stride / kWidth;
  for (int i = static_cast<int>(threadIdx.x); i < kGateUnits * pieces; i += kGateThreads) {
    const int unit = i / pieces, column = i % pieces * kWidth;
    float w[kWidth] = {};
    if (first + unit < p.hidden && column < p.dk) {
      load_vector(static_cast<const T*>(p.fc1_w) + (first + unit) * p.fc1_w_stride + column, w);
    }
#pragma unroll
    for (int j = 0; j < kWidth; ++j) tile.units[unit * tile.stride + column + j] = w[j];
  }
}

/// Weights of the units [first, first + kGateUnits) into the tile; zeros behind the last.
template <class T>
__device__ void fill_units(const GateParams& p, int first, const GateTile& tile) {
  if (p.unit_vectors) {
    fill_fc1<T, 4>(p, first, tile);
  } else {
    fill_fc1<T, 1>(p, first, tile);
  }
  const int i = static_cast<int>(threadIdx.x), row = i / kGateUnits, unit = first + i % kGateUnits;
  if (row >= 4) return;
  float number = 0;
  if (unit < p.hidden) {
    number = to_float(row == 0 ? static_cast<const T*>(p.fc1_b)[unit * p.fc1_b_stride]
                               : static_cast<const T*>(p.fc2_w)[(row - 1) * p.fc2_w_stride + unit]);
  }
  tile.around[i] = number;
}

/// Adds what the two units of this half of the warp give to the logits of the lane's row.
__device__ inline void add_units(const GateParams& p, const GateTile& tile, float (&z)[3]) {
  const int row = static_cast<int>(threadIdx.x) % kGateRows;
  const int unit = static_cast<int>(threadIdx.x) / kGateRows * 2;
  const float* mean = tile.means + row * tile.stride;
  const float* weights = tile.units + unit * tile.stride;
  float sum[2] = {};
#pragma unroll 4
  for (int c = 0; c < p.dk; c += 4) {
    const float4 m = *reinterpret_cast<const float4*>(mean + c);
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const float4 w = *reinterpret_cast<const float4*>(weights + u * tile.stride + c);
      sum[u] += w.x * m.x + w.y * m.y + w.z * m.z + w.w * m.w;
    }
  }
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const float* around = tile.around + unit + u;  // zeros for a unit that is not there
    const float x = sum[u] + around[0];
    const float activated = x / (1.0f + expf(-x));  // SiLU
#pragma unroll
    for (int b = 0; b < 3; ++b) z[b] += around[(b + 1) * kGateUnits] * activated;
  }
}

/// Softmax over the branches that are on, by the overrides.
__device__ inline void softmax_branches(const GateParams& p, const float (&z)[3],
                                        float (&weights)[3]) {
  float largest = -INFINITY, sum = 0;
  for (int b = 0; b < 3; ++b) {
    weights[b] = 0;
    if (p.branches >> b & 1u) largest = fmaxf(largest, z[b] * p.inverse_tau);
  }
  for (int b = 0; b < 3; ++b) {
    if (p.branches >> b & 1u) sum += weights[b] = expf(z[b] * p.inverse_tau - largest);
  }
  for (int b = 0; b < 3; ++b) {
    if (sum > 0) weights[b] /= sum;
    if (p.force_branch >= 0) weights[b] = b == p.force_branch ? 1.0f : 0.0f;
  }
}

/// Weights of one row from the halves' partial logits and fc2's bias.
__device__ inline void finish_gates(const GateParams& p, std::int64_t row, int in_block,
                                    const float (&bias)[3], const GateTile& tile, bool computed) {
  float logits[3] = {}, weights[3];
  for (int b = 0; computed && b < 3; ++b) {
    logits[b] = bias[b];
    for (int half = 0; half < 2 * kGateWarps; ++half) {
      logits[b] += tile.partial[(half * kGateRows + in_block) * 3 + b];
    }
  }
  softmax_branches(p, logits, weights);
  const std::int64_t token = row / p.kv_heads, head = row % p.kv_heads;
  for (int b = 0; b < 3; ++b) {
    tile.gates[in_block * 3 + b] = weights[b];
    if (p.weights) p.weights[row * 3 + b] = weights[b];
    if (p.gates) p.gates[token * p.gates_row_stride + head * p.gates_head_stride + b] = weights[b];
  }
}

/// Gates of the block's rows from the mean queries that its threads have just put into the tile;
/// the block is in step behind it.
template <class T>
__device__ void make_gates(const GateParams& p, std::int64_t first, const GateTile& tile) {
  const int row = static_cast<int>(threadIdx.x) % kGateRows;
  const int half = static_cast<int>(threadIdx.x) / kGateRows;
  const bool computed = !p.uniform && p.force_branch < 0, finishes = half == 0;
  float z[3] = {}, bias[3] = {};
  for (int b = 0; finishes && b < 3; ++b) {
    bias[b] = to_float(static_cast<const T*>(p.fc2_b)[b * p.fc2_b_stride]);
  }
  for (int unit = 0; computed && unit < p.hidden; unit += kGateUnits) {
    fill_units<T>(p, unit, tile);
    __syncthreads();
    add_units(p, tile, z);
    __syncthreads();
  }
  for (int b = 0; b < 3; ++b) tile.partial[(half * kGateRows + row) * 3 + b] = z[b];
  __syncthreads();
  if (finishes && first + row < p.rows) finish_gates(p, first + row, row, bias, tile, computed);
  __syncthreads();
}

/// kWidth columns of one head of the block's rows.
struct GatePiece {
  std::int64_t token;
  int head, column, row;  // row: of the block
};

/// kPieces at a time: all their loads are under way before the first sum. A branch of weight 0 is
/// not read.
template <class T, int kWidth, int kPieces>
__device__ void combine(const GateParams& p, const GatePiece (&pieces)[kPieces], int count,
                        const float* weights) {
  Vector<T, kWidth> numbers[kPieces][3];
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      const HeadTensor<const void>& branch = p.branch[b];
      const bool read = i < count && branch.data && weights[3 * pieces[i].row + b] != 0.0f;
      numbers[i][b] = {};
      if (read) {
        numbers[i][b] = *reinterpret_cast<const Vector<T, kWidth>*>(
            static_cast<const T*>(branch.data) + pieces[i].token * branch.row_stride +
            pieces[i].head * branch.head_stride + pieces[i].column);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kPieces; ++i) {
    if (i >= count) return;
    float sum[kWidth] = {};
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      const float weight = weights[3 * pieces[i].row + b];
#pragma unroll
      for (int j = 0; j < kWidth; ++j) sum[j] += weight * to_float(numbers[i][b].values[j]);
    }
    store_vector(static_cast<T*>(p.o.data) + pieces[i].token * p.o.row_stride +
                     pieces[i].head * p.o.head_stride + pieces[i].column,
                 sum);
  }
}

/// All heads of the rows [first, first + rows), by all threads of the block.
template <class T, int kWidth>
__device__ void combine_rows(const GateParams& p, std::int64_t first, int rows,
                             const float* weights) {
  constexpr int kPieces = 3;
  const int per_head = p.dv / kWidth, per_row = p.group * per_head, all = rows * per_row;
  for (int begin = static_cast<int>(threadIdx.x); begin < all; begin += kPieces * kGateThreads) {
    GatePiece pieces[kPieces] = {};
    int count = 0;
#pragma unroll
    for (int k = 0; k < kPieces; ++k) {
      const int i = begin + k * kGateThreads;
      if (i >= all) continue;
      const int r = i / per_row, rest = i % per_row;
      const std::int64_t row = first + r;
      pieces[k] = {row / p.kv_heads, static_cast<int>(row % p.kv_heads) * p.group + rest / per_head,
                   rest % per_head * kWidth, r};
      ++count;
    }
    combine<T, kWidth, kPieces>(p, pieces, count, weights);
  }
}

/// Rows of this block.
__device__ inline int gate_rows(const GateParams& p, std::int64_t first) {
  return static_cast<int>(p.rows - first < kGateRows ? p.rows - first : kGateRows);
}

}  // namespace nsa::cuda
