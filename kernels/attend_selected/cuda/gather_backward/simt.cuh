// `gather` backward without tensor cores: fp32, and head dims that the tensor-core tiles do not
// hold.
#pragma once

#include "attend_selected/cuda/gather_backward/launch.hpp"
#include "attend_selected/cuda/rows/ranges_row.cuh"
#include "cuda/backward/tiles/simt.cuh"

namespace nsa::cuda {

/// Bytes after the tile: the keys of the tile, and the ranges of the row.
template <class Sizes>
std::size_t gather_ints(const BackwardParams& p) {
  return 4 * static_cast<std::size_t>(Sizes::kKeys + RangesRow::ints(p.attend));
}

/// What a row of the tile stands for: a head of the group; the others have no weights.
__device__ inline float2 gather_stats(const BackwardParams& p, const RangesRow& row, int head) {
  const AttendParams& a = p.attend;
  if (head >= a.group) return make_float2(INFINITY, 0.0f);
  return reinterpret_cast<const float2*>(
      p.stats)[row.token * a.kv_heads * a.group + row.kv_head * a.group + head];
}

template <class Sizes>
__global__ void __launch_bounds__(Sizes::kThreads)
    gather_gradients_simt_kernel(const __grid_constant__ BackwardParams p,
                                 const __grid_constant__ GatherRows rows) {
  using T = typename Sizes::Storage;
  constexpr int kOwn = Sizes::kRows / 4;
  const AttendParams& a = p.attend;
  RangesRow row;
  row.find(a, static_cast<unsigned>(rows.first) + blockIdx.x);
  const SimtShared<Sizes> shared(dynamic_shared());
  int* const keys_of_tile = reinterpret_cast<int*>(shared.seen + Sizes::kRows);
  const int head = row.kv_head * a.group, own = static_cast<int>(threadIdx.x);
  const auto load_rows_of = [&](float* tile, const HeadTensor<const void>& tensor, int dim) {
    load_simt<Sizes>(tile, Sizes::kRows, dim, [&](int r) -> const T* {
      return r < a.group ? head_row<const T>(tensor, row.token, head + r) : nullptr;
    });
  };
  load_rows_of(shared.q, a.q, a.dk);
  load_rows_of(shared.d_o, p.d_o, a.dv);
  if (own < Sizes::kRows) shared.stats[own] = gather_stats(p, row, own);
  row.load(a, keys_of_tile + Sizes::kKeys);
  const int dk = (a.dk + 3) / 4 * 4, dv = (a.dv + 3) / 4 * 4;
  float d_q[kOwn][Sizes::kColumns] = {};
  for (int first = 0; first < row.keys(); first += Sizes::kKeys) {
    if (own < Sizes::kKeys) keys_of_tile[own] = row.row_of(first + own);
    if (own < Sizes::kRows) shared.seen[own] = make_int2(0, row.keys() - first);
    __syncthreads();
    const auto load_keys_of = [&](float* tile, const HeadTensor<const void>& tensor, int dim) {
      load_simt<Sizes>(tile, Sizes::kKeys, dim, [&](int key) -> const T* {
        const int at = keys_of_tile[key];
        return at >= 0 ? head_row<const T>(tensor, row.first_row + at, row.kv_head) : nullptr;
      });
    };
    load_keys_of(shared.k, a.k, a.dk);
    load_keys_of(shared.v, a.v, a.dv);
    __syncthreads();
    weigh_simt<Sizes>(shared, dk, dv, a.scale_log2);
    __syncthreads();
    add_keys_simt<Sizes>(d_q, shared.d_s, shared.k);
    if (rows.sums) {
      float d_k[8][Sizes::kColumns] = {}, d_v[8][Sizes::kColumns] = {};
      add_rows_simt<Sizes>(d_v, shared.p, shared.d_o);
      add_rows_simt<Sizes>(d_k, shared.d_s, shared.q);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const int at = keys_of_tile[8 * simt_group() + i];
        if (at < 0) continue;
        float* to = rows.sums +
                    ((row.first_row + at) * a.kv_heads + row.kv_head) * 2 * Sizes::kWidth +
                    simt_column();
#pragma unroll
        for (int j = 0; j < Sizes::kColumns; ++j) {
          atomicAdd(to + 64 * j, d_k[i][j]);
          atomicAdd(to + Sizes::kWidth + 64 * j, d_v[i][j]);
        }
      }
    }
    __syncthreads();
  }
  if (!p.d_q.data) return;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int r = kOwn * simt_group() + i;
    if (r >= a.group) continue;
#pragma unroll
    for (int j = 0; j < Sizes::kColumns; ++j) {
      const int column = simt_column() + 64 * j;
      if (column < a.dk)
        put_gradient<T>(p.d_q,
                        row.token * p.d_q.row_stride + (head + r) * p.d_q.head_stride + column,
                        d_q[i][j] * p.scale);
    }
  }
}

template <class Sizes>
void launch_gather_gradients_simt(const BackwardParams& p, const GatherRows& rows,
                                  CUstream_st* stream) {
  launch(gather_gradients_simt_kernel<Sizes>, rows.count, Sizes::kThreads,
         Sizes::kBytes + gather_ints<Sizes>(p), stream, p, rows);
}

}  // namespace nsa::cuda
