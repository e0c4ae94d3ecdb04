// What half a warp does for a row of the tile: its gates once more, the gradients of its branches,
// and the way back through softmax, second layer and activation to the queries.
#pragma once

#include "gate_combine/cuda/gate_fused_backward/tile.cuh"

namespace nsa::gate_combine {

__device__ inline float sum_of_half(float value) {
#pragma unroll
  for (int step = 8; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

/// Softmax over the branches that are on, by the overrides; the same in all lanes of the row.
template <int kDk>
__device__ void make_gates(const GateBackwardParams& p, const Tile<kDk>& tile, const Place& place,
                           float (&gates)[3]) {
  float z[3] = {}, largest = -INFINITY, sum = 0;
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    gates[b] = 0;
    if (!p.fixed()) {
      for (int u = place.column; u < tile.hidden(); u += 16)
        z[b] = fmaf(tile.fc2[b * tile.hidden() + u], tile.act[place.row * tile.hidden() + u], z[b]);
      z[b] = sum_of_half(z[b]) + tile.fc2_b[b];
    }
    if (p.branches >> b & 1u) largest = fmaxf(largest, z[b] * p.inverse_tau);
  }
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    if (p.branches >> b & 1u) sum += gates[b] = expf(z[b] * p.inverse_tau - largest);
  }
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    if (sum > 0) gates[b] /= sum;
    if (p.force_branch >= 0) gates[b] = b == p.force_branch ? 1.0f : 0.0f;
  }
}

/// Pieces of kWidth columns of a row's heads: what a lane reads of d_o and the branches, ahead of
/// the gates, so that the reads hide behind them.
template <class T, int kWidth>
class Pieces {
 public:
  static constexpr int kCount = 3, kStride = 16 * kCount;  // of a lane, of the row

  /// Those from number `begin` of the row on.
  __device__ void load(const GateBackwardParams& p, const Place& place, std::int64_t first,
                       int begin) {
    row_ = first + place.row;
    begin_ = begin + place.column;
    const int count = row_ < p.rows ? pieces_of(p) : 0;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      if (begin_ + 16 * k >= count) continue;
      const At at(p, row_, begin_ + 16 * k);
      d_o_[k] = read(p.d_o, at);
#pragma unroll
      for (int b = 0; b < 3; ++b) {
        if (p.branch[b].data) o_[k][b] = read(p.branch[b], at);
      }
    }
  }

  /// Writes the branches' gradients, and adds to the sums of d_o x branch.
  __device__ void finish(const GateBackwardParams& p, const float (&gates)[3],
                         float (&sum)[3]) const {
    const int count = row_ < p.rows ? pieces_of(p) : 0;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      if (begin_ + 16 * k >= count) continue;
      const At at(p, row_, begin_ + 16 * k);
      float d_o[kWidth];
      cuda::unpack<T, kWidth>(d_o_[k], d_o);
#pragma unroll
      for (int b = 0; b < 3; ++b) {
        if (p.branch[b].data) {
          float o[kWidth];
          cuda::unpack<T, kWidth>(o_[k][b], o);
#pragma unroll
          for (int j = 0; j < kWidth; ++j) sum[b] = fmaf(d_o[j], o[j], sum[b]);
        }
        if (!p.d_branch[b].data) continue;
        float d_branch[kWidth];
#pragma unroll
        for (int j = 0; j < kWidth; ++j) d_branch[j] = gates[b] * d_o[j];
        cuda::put_gradients<T>(p.d_branch[b], at.in(p.d_branch[b]), d_branch);
      }
    }
  }

  static __device__ int pieces_of(const GateBackwardParams& p) { return p.group * p.dv / kWidth; }

 private:
  using Bits = cuda::BitsOf<T, kWidth>;
  /// Piece i of a row. Wider than one only where d_o, the branches and their gradients lie row
  /// after row without gaps, so that one offset serves all (moves_in_vectors).
  struct At {
    std::int64_t flat = 0, token = 0, head = 0;
    __device__ At(const GateBackwardParams& p, std::int64_t number, int i) {
      if constexpr (kWidth > 1) {
        flat = number * (p.group * p.dv) + i * kWidth;
      } else {
        const GateRow row(p, number);
        token = row.token;
        head = row.first_head + i / p.dv;
        flat = i % p.dv;
      }
    }
    template <class Tensor>
    __device__ std::int64_t in(const Tensor& tensor) const {
      if constexpr (kWidth > 1) return flat;
      return token * tensor.row_stride + head * tensor.head_stride + flat;
    }
  };
  static __device__ Bits read(const cuda::HeadTensor<const void>& tensor, const At& at) {
    return *reinterpret_cast<const Bits*>(static_cast<const T*>(tensor.data) + at.in(tensor));
  }

  std::int64_t row_ = 0;
  int begin_ = 0;
  Bits d_o_[kCount], o_[kCount][3];
};

/// Through the softmax: gradients of the logits; zeros where the gates are fixed.
__device__ inline float4 logit_gradients(const GateBackwardParams& p, const float (&g)[3],
                                         const float (&d)[3]) {
  if (p.fixed()) return make_float4(0, 0, 0, 0);
  // What stands in a branch of gate 0 counts for nothing, NaN included.
  const float x = g[0] > 0 ? g[0] * d[0] : 0, y = g[1] > 0 ? g[1] * d[1] : 0,
              z = g[2] > 0 ? g[2] * d[2] : 0;
  const float mean = x + y + z;
  return make_float4((x - g[0] * mean) * p.inverse_tau, (y - g[1] * mean) * p.inverse_tau,
                     (z - g[2] * mean) * p.inverse_tau, 0);
}

/// Through the second layer and the activation, for both rows of the warp.
template <int kDk>
__device__ void unit_gradients(const Tile<kDk>& tile, const Place& place) {
  const int hidden = tile.hidden();
  for (int unit = place.lane; unit < hidden; unit += 32) {
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int at = (place.rows + e) * hidden + unit;
      const float4 d_z = tile.d_z[place.rows + e];
      const float d_act = d_z.x * tile.fc2[unit] + d_z.y * tile.fc2[hidden + unit] +
                          d_z.z * tile.fc2[2 * hidden + unit];
      const float x = tile.before[at], sigmoid = 1.0f / (1.0f + expf(-x));
      tile.d_before[at] = d_act * sigmoid * (1.0f + x * (1.0f - sigmoid));
    }
  }
}

/// Rows past the last one leave zeros. `pieces` holds the first of the row.
template <class T, int kWidth, int kDk>
__device__ void row_gradients(const GateBackwardParams& p, const Tile<kDk>& tile,
                              const Place& place, std::int64_t first, Pieces<T, kWidth>& pieces) {
  float gates[3], sum[3] = {};
  make_gates(p, tile, place, gates);
  for (int next = 0;;) {
    pieces.finish(p, gates, sum);
    next += Pieces<T, kWidth>::kStride;
    if (next >= Pieces<T, kWidth>::pieces_of(p)) break;
    pieces.load(p, place, first, next);
  }
#pragma unroll
  for (int b = 0; b < 3; ++b) sum[b] = sum_of_half(sum[b]);
  if (place.column == 0)
    tile.d_z[place.row] =
        first + place.row < p.rows ? logit_gradients(p, gates, sum) : make_float4(0, 0, 0, 0);
  __syncwarp();
  unit_gradients(tile, place);
}

/// Through the first layer and the mean: the same for every head of a group.
template <class T, int kWidth, int kDk>
__device__ void query_gradients(const GateBackwardParams& p, const Tile<kDk>& tile,
                                const Place& place, std::int64_t first) {
  constexpr int kStep = Tile<kDk>::kStep;
  if (!p.d_q.data) return;
  for (int column = place.lane; column < tile.dk(); column += 32) {
    float sum[kEach] = {};
#pragma unroll 8
    for (int u = 0; u < tile.hidden(); u += kStep) {
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        float d_before[kStep];
        cuda::load_vector(tile.d_before + (place.rows + e) * tile.hidden() + u, d_before);
#pragma unroll
        for (int j = 0; j < kStep; ++j)
          sum[e] = fmaf(d_before[j], tile.fc1[(u + j) * (tile.dk() + 1) + column], sum[e]);
      }
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e)
      tile.d_mean[(place.rows + e) * tile.dk() + column] = sum[e] / static_cast<float>(p.group);
  }
  __syncwarp();
  if (first + place.row >= p.rows) return;
  const GateRow row(p, first + place.row);
  for (int column = place.column * kWidth; column < tile.dk(); column += 16 * kWidth) {
    float d_q[kWidth];
#pragma unroll
    for (int j = 0; j < kWidth; ++j) d_q[j] = tile.d_mean[place.row * tile.dk() + column + j];
    for (int h = 0; h < p.group; ++h)
      cuda::put_gradients<T>(
          p.d_q, row.token * p.d_q.row_stride + (row.first_head + h) * p.d_q.head_stride + column,
          d_q);
  }
}

}  // namespace nsa::gate_combine
