// The gradient of q in attention to a band without tensor cores.
#pragma once

#include "cuda/backward/tiles/query_rows.cuh"
#include "cuda/backward/tiles/simt.cuh"

namespace nsa::cuda {

/// A tile of rows (query, head of the group) and what is known of each, for all its tiles of keys.
template <class Sizes>
__device__ void load_tile_rows_simt(const BackwardParams& p, const RowTile& at,
                                    const SimtShared<Sizes>& shared) {
  using T = typename Sizes::Storage;
  const AttendParams& a = p.attend;
  const auto load = [&](float* tile, const HeadTensor<const void>& tensor, int dim) {
    load_simt<Sizes>(tile, Sizes::kRows, dim, [&](int row) -> const T* {
      return at.holds(row) ? head_row<const T>(tensor, at.token(row), at.head(row)) : nullptr;
    });
  };
  load(shared.q, a.q, a.dk);
  load(shared.d_o, p.d_o, a.dv);
  const int row = static_cast<int>(threadIdx.x);
  if (row >= Sizes::kRows) return;
  const auto* stats = reinterpret_cast<const float2*>(p.stats);
  shared.stats[row] = at.holds(row) ? stats[at.token(row) * a.kv_heads * a.group + at.head(row)]
                                    : make_float2(INFINITY, 0.0f);
}

/// As make_query_gradients.
template <class Sizes, class Pass, class... Of>
__device__ __forceinline__ void make_query_gradients_simt(const BackwardParams& p, Of... of) {
  using T = typename Sizes::Storage;
  constexpr int kOwn = Sizes::kRows / 4;
  const AttendParams& a = p.attend;
  const RowTile at(a, a.group, Sizes::kRows);
  if (at.first_row >= at.rows) return;
  const Pass pass(p, at, Sizes::kRows, of...);
  const SimtShared<Sizes> shared(dynamic_shared());
  load_tile_rows_simt<Sizes>(p, at, shared);
  const int dk = (a.dk + 3) / 4 * 4, dv = (a.dv + 3) / 4 * 4;
  float d_q[kOwn][Sizes::kColumns] = {};
  for (int first = pass.begin; first < pass.end; first = pass.after(first)) {
    const int last = min(pass.after(first), pass.end);
    const auto load = [&](float* tile, const HeadTensor<const void>& tensor, int dim) {
      load_simt<Sizes>(tile, Sizes::kKeys, dim, [&](int key) -> const T* {
        return first + key < last ? head_row<const T>(tensor, pass.base + first + key, at.kv_head)
                                  : nullptr;
      });
    };
    load(shared.k, a.k, a.dk);
    load(shared.v, a.v, a.dv);
    if (threadIdx.x < Sizes::kRows) {
      const KeyRun run = pass.seen(static_cast<int>(threadIdx.x), first);
      shared.seen[threadIdx.x] = make_int2(run.begin - first, run.end - first);
    }
    __syncthreads();
    weigh_simt<Sizes>(shared, dk, dv, a.scale_log2);
    __syncthreads();
    add_keys_simt<Sizes>(d_q, shared.d_s, shared.k);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int row = kOwn * simt_group() + i;
    if (!at.holds(row)) continue;
#pragma unroll
    for (int j = 0; j < Sizes::kColumns; ++j) {
      const int column = simt_column() + 64 * j;
      if (column < a.dk)
        put_gradient<T>(
            p.d_q, at.token(row) * p.d_q.row_stride + at.head(row) * p.d_q.head_stride + column,
            d_q[i][j] * p.scale);
    }
  }
}

template <class Sizes>
__global__ void __launch_bounds__(Sizes::kThreads)
    query_gradient_simt_kernel(const __grid_constant__ BackwardParams p, bool compressed) {
  make_query_gradients_simt<Sizes, BandPass<Sizes::kKeys>>(p, compressed);
}

template <class Sizes>
void launch_query_gradient_simt(const BackwardParams& p, bool compressed, CUstream_st* stream) {
  launch_row_tiles<Sizes>(query_gradient_simt_kernel<Sizes>, Sizes::kBytes, stream, p, compressed);
}

}  // namespace nsa::cuda
