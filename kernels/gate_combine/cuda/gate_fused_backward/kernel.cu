// The backward pass of the gate (docs/nsa.md 8) as one kernel, and the sum of what its blocks know
// of the weights. A block makes the gates of its rows again, which takes less than to read them
// with what they were made from.
#include "cuda/backward/gradient.cuh"
#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"
#include "gate_combine/cuda/gate_fused_backward/params.hpp"

namespace nsa::gate_combine {
namespace {

constexpr int kRows = kBackwardRows, kThreads = kBackwardThreads, kWarps = kThreads / 32;

/// Shared memory of a block.
struct Tile {
  float *fc1, *fc2;                // [hidden, dk + 1], [3, hidden]
  float* mean;                     // [kRows, dk]
  float *before, *act, *d_before;  // [kRows, hidden]: of the activation, behind it, its gradient
  float4 *gates, *d_gates, *d_z;   // [kRows]

  __device__ Tile(const GateBackwardParams& p, unsigned char* memory) {
    gates = reinterpret_cast<float4*>(memory);
    d_gates = gates + kRows;
    d_z = d_gates + kRows;
    fc1 = reinterpret_cast<float*>(d_z + kRows);
    fc2 = fc1 + p.hidden * (p.dk + 1);
    mean = fc2 + 3 * p.hidden;
    before = mean + kRows * p.dk;
    act = before + kRows * p.hidden;
    d_before = act + kRows * p.hidden;
  }
};

/// Calls f(i) for the numbers below `count`, shared among the block's threads.
template <class F>
__device__ void for_each(int count, F f) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) f(i);
}

template <class T>
__device__ void load_weights(const GateBackwardParams& p, const Tile& tile) {
  for_each(p.hidden * p.dk, [&](int i) {
    const int unit = i / p.dk, column = i - unit * p.dk;
    tile.fc1[unit * (p.dk + 1) + column] =
        cuda::to_float(static_cast<const T*>(p.fc1_w)[unit * p.fc1_w_stride + column]);
  });
  for_each(3 * p.hidden, [&](int i) {
    const int branch = i / p.hidden, unit = i - branch * p.hidden;
    tile.fc2[i] = cuda::to_float(static_cast<const T*>(p.fc2_w)[branch * p.fc2_w_stride + unit]);
  });
}

template <class T>
__device__ void make_means(const GateBackwardParams& p, const Tile& tile, std::int64_t first) {
  for_each(kRows * p.dk, [&](int i) {
    const int r = i / p.dk, column = i - r * p.dk;
    float sum = 0;
    if (first + r < p.rows) {
      const std::int64_t token = (first + r) / p.kv_heads, head = (first + r) % p.kv_heads;
      const T* q = cuda::head_row<const T>(p.q, token, head * p.group) + column;
      for (int h = 0; h < p.group; ++h) sum += cuda::to_float(q[h * p.q.head_stride]);
    }
    tile.mean[i] = sum / static_cast<float>(p.group);
  });
}

template <class T>
__device__ void make_units(const GateBackwardParams& p, const Tile& tile) {
  for_each(kRows * p.hidden, [&](int i) {
    const int r = i / p.hidden, unit = i - r * p.hidden;
    float sum = cuda::to_float(static_cast<const T*>(p.fc1_b)[unit * p.fc1_b_stride]);
    for (int c = 0; c < p.dk; ++c)
      sum = fmaf(tile.fc1[unit * (p.dk + 1) + c], tile.mean[r * p.dk + c], sum);
    tile.before[i] = sum;
    tile.act[i] = sum / (1.0f + expf(-sum));
  });
}

/// Softmax over the branches that are on, by the overrides; a thread per row.
template <class T>
__device__ void make_gates(const GateBackwardParams& p, const Tile& tile) {
  for_each(kRows, [&](int r) {
    float z[3] = {}, weight[3] = {}, largest = -INFINITY, sum = 0;
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      if (!p.fixed()) {
        z[b] = cuda::to_float(static_cast<const T*>(p.fc2_b)[b * p.fc2_b_stride]);
        for (int u = 0; u < p.hidden; ++u)
          z[b] = fmaf(tile.fc2[b * p.hidden + u], tile.act[r * p.hidden + u], z[b]);
      }
      if (p.branches >> b & 1u) largest = fmaxf(largest, z[b] * p.inverse_tau);
    }
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      if (p.branches >> b & 1u) sum += weight[b] = expf(z[b] * p.inverse_tau - largest);
    }
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      if (sum > 0) weight[b] /= sum;
      if (p.force_branch >= 0) weight[b] = b == p.force_branch ? 1.0f : 0.0f;
    }
    tile.gates[r] = make_float4(weight[0], weight[1], weight[2], 0);
  });
}

/// Gradients of the branches, and of the gates, which are sums over a row's heads: a warp per row.
template <class T, int kWidth>
__device__ void branch_gradients(const GateBackwardParams& p, const Tile& tile,
                                 std::int64_t first) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int per_head = p.dv / kWidth;
  for (int r = static_cast<int>(threadIdx.x) / 32; r < kRows; r += kWarps) {
    if (first + r >= p.rows) {
      if (lane == 0) tile.d_gates[r] = make_float4(0, 0, 0, 0);
      continue;
    }
    const std::int64_t token = (first + r) / p.kv_heads;
    const std::int64_t first_head = (first + r) % p.kv_heads * p.group;
    const float4 gates = tile.gates[r];
    const float gate[3] = {gates.x, gates.y, gates.z};
    float sum[3] = {};
    for (int i = lane; i < p.group * per_head; i += 32) {
      const int h = i / per_head, column = (i - h * per_head) * kWidth;
      float d_o[kWidth];
      cuda::load_vector(cuda::head_row<const T>(p.d_o, token, first_head + h) + column, d_o);
#pragma unroll
      for (int b = 0; b < 3; ++b) {
        if (p.branch[b].data) {
          float o[kWidth];
          cuda::load_vector(cuda::head_row<const T>(p.branch[b], token, first_head + h) + column,
                            o);
#pragma unroll
          for (int j = 0; j < kWidth; ++j) sum[b] = fmaf(d_o[j], o[j], sum[b]);
        }
        if (!p.d_branch[b].data) continue;
        float d_branch[kWidth];
#pragma unroll
        for (int j = 0; j < kWidth; ++j) d_branch[j] = gate[b] * d_o[j];
        cuda::put_gradients<T>(p.d_branch[b],
                               token * p.d_branch[b].row_stride +
                                   (first_head + h) * p.d_branch[b].head_stride + column,
                               d_branch);
      }
    }
#pragma unroll
    for (int b = 0; b < 3; ++b)
#pragma unroll
      for (int step = 16; step > 0; step /= 2) sum[b] += __shfl_xor_sync(0xffffffffu, sum[b], step);
    if (lane == 0) tile.d_gates[r] = make_float4(sum[0], sum[1], sum[2], 0);
  }
}

/// Through the softmax: gradients of the logits; zeros where the gates are fixed.
__device__ inline void logit_gradients(const GateBackwardParams& p, const Tile& tile) {
  for_each(kRows, [&](int r) {
    const float4 g = tile.gates[r], d = tile.d_gates[r];
    // What stands in a branch of gate 0 counts for nothing, NaN included.
    const float x = g.x > 0 ? g.x * d.x : 0, y = g.y > 0 ? g.y * d.y : 0,
                z = g.z > 0 ? g.z * d.z : 0;
    const float mean = x + y + z, factor = p.fixed() ? 0.0f : p.inverse_tau;
    tile.d_z[r] = p.fixed() ? make_float4(0, 0, 0, 0)
                            : make_float4((x - g.x * mean) * factor, (y - g.y * mean) * factor,
                                          (z - g.z * mean) * factor, 0);
  });
}

/// Through the second layer and the activation.
__device__ inline void unit_gradients(const GateBackwardParams& p, const Tile& tile) {
  for_each(kRows * p.hidden, [&](int i) {
    const int r = i / p.hidden, unit = i - r * p.hidden;
    const float4 d_z = tile.d_z[r];
    const float d_act = d_z.x * tile.fc2[unit] + d_z.y * tile.fc2[p.hidden + unit] +
                        d_z.z * tile.fc2[2 * p.hidden + unit];
    const float x = tile.before[i], sigmoid = 1.0f / (1.0f + expf(-x));
    tile.d_before[i] = d_act * sigmoid * (1.0f + x * (1.0f - sigmoid));
  });
}

/// Adds the rows' part of the weights' gradients to this block's copy; each number has one thread.
__device__ inline void weight_gradients(const GateBackwardParams& p, const Tile& tile, float* sums,
                                        bool begin) {
  const auto add = [&](int i, float x) { sums[i] = begin ? x : sums[i] + x; };
  for_each(p.hidden * p.dk, [&](int i) {
    const int unit = i / p.dk, column = i - unit * p.dk;
    float sum = 0;
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      sum = fmaf(tile.d_before[r * p.hidden + unit], tile.mean[r * p.dk + column], sum);
    add(i, sum);
  });
  const int after = p.hidden * p.dk;
  for_each(4 * p.hidden + 3, [&](int i) {
    float sum = 0;
    for (int r = 0; r < kRows; ++r) {
      const auto* d_z = reinterpret_cast<const float*>(tile.d_z + r);
      if (i < p.hidden) {
        sum += tile.d_before[r * p.hidden + i];
      } else if (i < 4 * p.hidden) {
        const int branch = i / p.hidden - 1;
        sum = fmaf(d_z[branch], tile.act[r * p.hidden + i % p.hidden], sum);
      } else {
        sum += d_z[i - 4 * p.hidden];
      }
    }
    add(after + i, sum);
  });
}

/// Through the mean: the same for every head of a group.
template <class T>
__device__ void query_gradients(const GateBackwardParams& p, const Tile& tile, std::int64_t first) {
  if (!p.d_q.data) return;
  for_each(kRows * p.dk, [&](int i) {
    const int r = i / p.dk, column = i - r * p.dk;
    if (first + r >= p.rows) return;
    float sum = 0;
    for (int u = 0; u < p.hidden; ++u)
      sum = fmaf(tile.d_before[r * p.hidden + u], tile.fc1[u * (p.dk + 1) + column], sum);
    sum /= static_cast<float>(p.group);
    const std::int64_t token = (first + r) / p.kv_heads;
    const std::int64_t head = (first + r) % p.kv_heads * p.group;
    for (int h = 0; h < p.group; ++h)
      cuda::put_gradient<T>(
          p.d_q, token * p.d_q.row_stride + (head + h) * p.d_q.head_stride + column, sum);
  });
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    gate_backward_kernel(const __grid_constant__ GateBackwardParams p) {
  const Tile tile(p, cuda::dynamic_shared());
  float* sums = p.sums + blockIdx.x * gate_gradient_numbers(p.dk, p.hidden);
  load_weights<T>(p, tile);
  bool begin = true;
  for (std::int64_t first = blockIdx.x * std::int64_t{kRows}; first < p.rows;
       first += gridDim.x * std::int64_t{kRows}) {
    make_means<T>(p, tile, first);
    __syncthreads();
    make_units<T>(p, tile);
    __syncthreads();
    make_gates<T>(p, tile);
    __syncthreads();
    branch_gradients<T, kWidth>(p, tile, first);
    __syncthreads();
    logit_gradients(p, tile);
    __syncthreads();
    unit_gradients(p, tile);
    __syncthreads();
    weight_gradients(p, tile, sums, begin);
    query_gradients<T>(p, tile, first);
    __syncthreads();
    begin = false;
  }
}

/// A thread per number of the weights' gradients.
template <class T>
__global__ void __launch_bounds__(kThreads)
    sum_weights_kernel(const __grid_constant__ GateBackwardParams p, int copies) {
  const auto numbers = static_cast<int>(gate_gradient_numbers(p.dk, p.hidden));
  int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i >= numbers) return;
  float sum = 0;
#pragma unroll 8
  for (int c = 0; c < copies; ++c) sum += p.sums[std::int64_t{c} * numbers + i];
  const int counts[4] = {p.hidden * p.dk, p.hidden, 3 * p.hidden, 3};
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if (i >= 0 && i < counts[w] && p.d_weights[w].data) {
      const WeightGradient& to = p.d_weights[w];
      const int row = i / to.columns;
      cuda::put_gradient<T>({to.data, 0, 0, to.fp32, to.accumulate},
                            row * to.row_stride + i - row * to.columns, sum);
    }
    i -= counts[w];
  }
}

}  // namespace

void gate_backward(const GateBackwardParams& p, Dtype dtype, bool vectors, CUstream_st* stream) {
  const std::int64_t tiles = (p.rows + kRows - 1) / kRows;
  const std::int64_t blocks = tiles < kBackwardBlocks ? tiles : kBackwardBlocks;
  const auto shared = static_cast<std::size_t>(gate_backward_floats(p.dk, p.hidden)) * 4;
  const std::int64_t numbers = gate_gradient_numbers(p.dk, p.hidden);
  cuda::with_storage_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    cuda::with_vector_width<T>(vectors, [&](auto width) {
      cuda::launch(gate_backward_kernel<T, width()>, blocks, kThreads, shared, stream, p);
    });
    cuda::launch(sum_weights_kernel<T>, (numbers + kThreads - 1) / kThreads, kThreads, 0, stream, p,
                 static_cast<int>(blocks));
  });
}

}  // namespace nsa::gate_combine
