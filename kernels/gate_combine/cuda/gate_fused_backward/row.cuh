// What a warp does for a row of the tile: its gates once more, the gradients of its branches, and
// the way back through softmax, second layer and activation.
#pragma once

#include "gate_combine/cuda/gate_fused_backward/tile.cuh"

namespace nsa::gate_combine {

__device__ inline float sum_of_warp(float value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

/// Softmax over the branches that are on, by the overrides; the same in all lanes.
template <class T, int kDk>
__device__ void make_gates(const GateBackwardParams& p, const Tile<kDk>& tile, int r,
                           float (&gates)[3]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float z[3] = {}, largest = -INFINITY, sum = 0;
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    gates[b] = 0;
    if (!p.fixed()) {
      for (int u = lane; u < tile.hidden(); u += 32)
        z[b] = fmaf(tile.fc2[b * tile.hidden() + u], tile.act[r * tile.hidden() + u], z[b]);
      z[b] = sum_of_warp(z[b]) + cuda::to_float(static_cast<const T*>(p.fc2_b)[b * p.fc2_b_stride]);
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

/// Gradients of the branches, and of the gates, which are sums over a row's heads.
template <class T, int kWidth>
__device__ void branch_gradients(const GateBackwardParams& p, const GateRow& row,
                                 const float (&gates)[3], float (&d_gates)[3]) {
  const int lane = static_cast<int>(threadIdx.x) % 32, per_head = p.dv / kWidth;
  float sum[3] = {};
  for (int i = lane; i < p.group * per_head; i += 32) {
    const int h = i / per_head, column = (i - h * per_head) * kWidth;
    const std::int64_t head = row.first_head + h;
    // All loads stand before the first store, which they might alias.
    float d_o[kWidth], o[3][kWidth];
    cuda::load_vector(cuda::head_row<const T>(p.d_o, row.token, head) + column, d_o);
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      if (p.branch[b].data)
        cuda::load_vector(cuda::head_row<const T>(p.branch[b], row.token, head) + column, o[b]);
    }
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      if (p.branch[b].data) {
#pragma unroll
        for (int j = 0; j < kWidth; ++j) sum[b] = fmaf(d_o[j], o[b][j], sum[b]);
      }
      if (!p.d_branch[b].data) continue;
      float d_branch[kWidth];
#pragma unroll
      for (int j = 0; j < kWidth; ++j) d_branch[j] = gates[b] * d_o[j];
      cuda::put_gradients<T>(
          p.d_branch[b],
          row.token * p.d_branch[b].row_stride + head * p.d_branch[b].head_stride + column,
          d_branch);
    }
  }
#pragma unroll
  for (int b = 0; b < 3; ++b) d_gates[b] = sum_of_warp(sum[b]);
}

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

/// Through the second layer and the activation.
template <int kDk>
__device__ void unit_gradients(const Tile<kDk>& tile, int r, const float4& d_z) {
  const int hidden = tile.hidden();
  for (int unit = static_cast<int>(threadIdx.x) % 32; unit < hidden; unit += 32) {
    const float d_act = d_z.x * tile.fc2[unit] + d_z.y * tile.fc2[hidden + unit] +
                        d_z.z * tile.fc2[2 * hidden + unit];
    const float x = tile.before[r * hidden + unit], sigmoid = 1.0f / (1.0f + expf(-x));
    tile.d_before[r * hidden + unit] = d_act * sigmoid * (1.0f + x * (1.0f - sigmoid));
  }
}

/// The rows of the tile, a warp for each; rows behind the last one leave zeros.
template <class T, int kWidth, int kDk>
__device__ void row_gradients(const GateBackwardParams& p, const Tile<kDk>& tile,
                              std::int64_t first) {
  for (int r = static_cast<int>(threadIdx.x) / 32; r < kRows; r += kWarps) {
    float4 d_z = make_float4(0, 0, 0, 0);
    if (first + r < p.rows) {
      float gates[3], d_gates[3];
      make_gates<T>(p, tile, r, gates);
      branch_gradients<T, kWidth>(p, GateRow(p, first + r), gates, d_gates);
      d_z = logit_gradients(p, gates, d_gates);
    }
    if (threadIdx.x % 32 == 0) tile.d_z[r] = d_z;
    unit_gradients(tile, r, d_z);
  }
}

}  // namespace nsa::gate_combine
