// The gate on the device (docs/nsa.md 8): a block of threads takes 16 rows, one (token, KV head)
// per lane of half a warp. Each step reads its operands from shared memory or from tensors, so that
// one kernel or three can be made of them.
#pragma once

#include <cmath>

#include "gate_combine/cuda_gate_tile.cuh"

namespace nsa::cuda {

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
