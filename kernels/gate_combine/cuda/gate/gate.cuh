// Gates of a warp's rows and the combination of their branches (docs/nsa.md 8).
#pragma once

#include <cmath>

#include "gate_combine/cuda/gate/tile.cuh"

namespace nsa::cuda {

/// Softmax over the branches that are on, by the overrides.
__device__ inline void softmax_branches(const GateParams& p, const float (&z)[3],
                                        float (&weights)[3]) {
  float largest = -INFINITY, sum = 0;
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    weights[b] = 0;
    if (p.branches >> b & 1u) largest = fmaxf(largest, z[b] * p.inverse_tau);
  }
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    if (p.branches >> b & 1u) sum += weights[b] = expf(z[b] * p.inverse_tau - largest);
  }
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    if (sum > 0) weights[b] /= sum;
    if (p.force_branch >= 0) weights[b] = b == p.force_branch ? 1.0f : 0.0f;
  }
}

/// The gates of a row where the combination reads them.
__device__ inline void put_gates(const GateTile& tile, int row, const float (&gates)[3]) {
  tile.gates[row] = make_float4(gates[0], gates[1], gates[2], 0);
}

/// Gates of the warp's rows from the means in its tile, a row per lane; into the tile, and where
/// the caller wants them.
template <class T, int kRows>
__device__ void make_gates(const GateParams& p, std::uint32_t first, const GateTile& tile) {
  float z[kRows][3] = {};
  if (!p.uniform && p.force_branch < 0) make_logits<T, kRows>(p, tile, z);
  const auto lane = threadIdx.x % 32;
  if (lane < kRows) {
    float own[3] = {}, gates[3];
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
#pragma unroll
      for (int b = 0; b < 3; ++b) own[b] = lane == r ? z[r][b] : own[b];
    }
    softmax_branches(p, own, gates);
    put_gates(tile, static_cast<int>(lane), gates);
    const std::uint32_t row = first + lane;
    if (row < p.rows) {
#pragma unroll
      for (int b = 0; b < 3; ++b) {
        if (p.gates)
          p.gates[row / p.kv_heads * p.gates_row_stride + row % p.kv_heads * p.gates_head_stride +
                  b] = gates[b];
        if (p.weights) p.weights[std::int64_t{row} * 3 + b] = gates[b];
      }
    }
  }
  __syncwarp();
}

/// kWidth columns of one head of one of the warp's rows. Wider than one only where the branches and
/// o lie row after row without gaps (GateParams), so that one offset serves all four.
struct GatePiece {
  std::int64_t flat = 0, token = 0;
  int head = 0, column = 0, row = -1;  // row: of the warp; -1: nothing to do
};
template <int kWidth>
__device__ GatePiece gate_piece(const GateParams& p, std::uint32_t first, int rows, int i) {
  GatePiece piece;
  const int per_head = p.dv / kWidth, per_row = p.group * per_head;
  const auto left = static_cast<int>(p.rows > first ? min(p.rows - first, 1u << 16) : 0u);
  if (i >= min(rows, left) * per_row) return piece;
  piece.row = 0;
#pragma unroll
  for (int r = 1; r < kMostGateRows; ++r) piece.row += i >= r * per_row;
  if constexpr (kWidth > 1) {
    piece.flat = std::int64_t{first} * p.group * p.dv + i * kWidth;
  } else {
    const std::uint32_t row = first + static_cast<std::uint32_t>(piece.row);
    const int rest = i - piece.row * per_row;
    piece.token = row / p.kv_heads;
    piece.head = static_cast<int>(row % p.kv_heads) * p.group + rest / per_head;
    piece.column = rest % per_head;
  }
  return piece;
}
template <int kWidth, class Untyped>
__device__ std::int64_t offset_in(const HeadTensor<Untyped>& tensor, const GatePiece& piece) {
  if constexpr (kWidth > 1) return piece.flat;
  return piece.token * tensor.row_stride + piece.head * tensor.head_stride + piece.column;
}

/// The three branches of a piece as they are stored; zeros for one that is not there.
template <class T, int kWidth>
struct BranchNumbers {
  BitsOf<T, kWidth> of[3];
};
template <class T, int kWidth>
__device__ void load_branches(const GateParams& p, const GatePiece& piece,
                              BranchNumbers<T, kWidth>& numbers) {
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    const HeadTensor<const void>& branch = p.branch[b];
    if (piece.row < 0 || !branch.data) continue;
    numbers.of[b] = *reinterpret_cast<const BitsOf<T, kWidth>*>(static_cast<const T*>(branch.data) +
                                                                offset_in<kWidth>(branch, piece));
  }
}

/// o = sum of gate x branch; what stands in a branch of gate 0 counts for nothing, NaN included.
template <class T, int kWidth>
__device__ void combine(const GateParams& p, const GatePiece& piece,
                        const BranchNumbers<T, kWidth>& numbers, const GateTile& tile) {
  if (piece.row < 0) return;
  const float4 gates = tile.gates[piece.row];
  const float gate[3] = {gates.x, gates.y, gates.z};
  float sum[kWidth] = {};
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    if (gate[b] == 0.0f || !p.branch[b].data) continue;
    float of_branch[kWidth];
    unpack<T, kWidth>(numbers.of[b], of_branch);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) sum[j] += gate[b] * of_branch[j];
  }
  store_vector(static_cast<T*>(p.o.data) + offset_in<kWidth>(p.o, piece), sum);
}

/// What a lane reads before the gates are known, so that the reads hide behind the gate.
template <class T, int kWidth, int kRows, int kAhead>
struct Ahead {
  GatePiece piece[kAhead];
  BranchNumbers<T, kWidth> numbers[kAhead];

  __device__ void load(const GateParams& p, std::uint32_t first, int begin) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      piece[i] = gate_piece<kWidth>(p, first, kRows, begin + 32 * i);
      load_branches<T, kWidth>(p, piece[i], numbers[i]);
    }
  }
  __device__ void store(const GateParams& p, const GateTile& tile) const {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) combine<T, kWidth>(p, piece[i], numbers[i], tile);
  }
};

/// All heads of the warp's rows; `ahead` holds the first pieces.
template <class T, int kWidth, int kRows, int kAhead>
__device__ void combine_rows(const GateParams& p, std::uint32_t first,
                             Ahead<T, kWidth, kRows, kAhead>& ahead, const GateTile& tile) {
  const int all = kRows * p.group * (p.dv / kWidth);
  int begin = static_cast<int>(threadIdx.x) % 32;
  ahead.store(p, tile);
  for (begin += 32 * kAhead; begin < all; begin += 32 * kAhead) {
    ahead.load(p, first, begin);
    ahead.store(p, tile);
  }
}

}  // namespace nsa::cuda
