// `masked` backward without tensor cores: fp32, and head dims that the tensor-core tiles do not
// hold.
#pragma once

#include "attend_selected/cuda/masked_backward/items.cuh"
#include "cuda/backward/tiles/keys_simt.cuh"
#include "cuda/backward/tiles/queries_simt.cuh"

namespace nsa::cuda {

template <class Sizes>
__global__ void __launch_bounds__(Sizes::kThreads)
    masked_key_gradients_simt_kernel(const __grid_constant__ BackwardParams p,
                                     const __grid_constant__ MaskedItems items, float* sums) {
  using T = typename Sizes::Storage;
  const KeyItem item = key_item(items, p);
  if (item.place < 0) return;
  const SimtShared<Sizes> shared(dynamic_shared());
  const AttendParams& a = p.attend;
  const KeyTile& tile = item.keys;
  load_simt<Sizes>(shared.k, Sizes::kKeys, a.dk, [&](int key) -> const T* {
    return key < tile.count ? head_row<const T>(a.k, tile.row + key, item.kv_head) : nullptr;
  });
  load_simt<Sizes>(shared.v, Sizes::kKeys, a.dv, [&](int key) -> const T* {
    return key < tile.count ? head_row<const T>(a.v, tile.row + key, item.kv_head) : nullptr;
  });
  const KeyOutputs none;
  const ItemRows rows(p, none, item, nullptr, Sizes::kKeys);
  const int dk = (a.dk + 3) / 4 * 4, dv = (a.dv + 3) / 4 * 4;
  const int own = static_cast<int>(threadIdx.x);
  float d_k[8][Sizes::kColumns] = {}, d_v[8][Sizes::kColumns] = {};
  for (int first = 0; first < rows.count(); first += Sizes::kRows) {
    load_rows_simt<Sizes>(rows, shared, first);
    if (own < Sizes::kRows) shared.seen[own] = seen_of_tile(p, item, rows.row(first + own).token);
    __syncthreads();
    weigh_simt<Sizes>(shared, dk, dv, a.scale_log2);
    __syncthreads();
    add_rows_simt<Sizes>(d_v, shared.p, shared.d_o);
    add_rows_simt<Sizes>(d_k, shared.d_s, shared.q);
    __syncthreads();
  }
  float* to = sums + item.place * Sizes::kKeys * 2 * Sizes::kWidth;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float* row = to + (8 * simt_group() + i) * 2 * Sizes::kWidth + simt_column();
#pragma unroll
    for (int j = 0; j < Sizes::kColumns; ++j) {
      row[64 * j] = d_k[i][j];
      row[Sizes::kWidth + 64 * j] = d_v[i][j];
    }
  }
}

template <class Sizes>
__global__ void __launch_bounds__(Sizes::kThreads)
    masked_query_gradient_simt_kernel(const __grid_constant__ BackwardParams p) {
  using T = typename Sizes::Storage;
  constexpr int kOwn = Sizes::kRows / 4;
  const AttendParams& a = p.attend;
  const RowTile at(a, a.group, Sizes::kRows);
  if (at.first_row >= at.rows) return;
  const SimtShared<Sizes> shared(dynamic_shared());
  load_tile_rows_simt<Sizes>(p, at, shared);
  const std::int64_t base = at.sequence.kv_begin;
  const int end = at.position(min(at.rows - at.first_row, Sizes::kRows) - 1) + 1;
  const int dk = (a.dk + 3) / 4 * 4, dv = (a.dv + 3) / 4 * 4;
  float d_q[kOwn][Sizes::kColumns] = {};
  for (int first = 0, behind = 0; first < end; first = behind) {
    behind = min(first + Sizes::kKeys, (first / a.sel_block + 1) * a.sel_block);
    const auto load = [&](float* tile, const HeadTensor<const void>& tensor, int dim) {
      load_simt<Sizes>(tile, Sizes::kKeys, dim, [&](int key) -> const T* {
        return first + key < min(behind, end)
                   ? head_row<const T>(tensor, base + first + key, at.kv_head)
                   : nullptr;
      });
    };
    load(shared.k, a.k, a.dk);
    load(shared.v, a.v, a.dv);
    const int row = static_cast<int>(threadIdx.x);
    if (row < Sizes::kRows) {
      const bool chosen = at.holds(row) && chose(a, at.token(row), at.kv_head, first / a.sel_block);
      shared.seen[row] = make_int2(0, chosen ? min(at.position(row) + 1, behind) - first : 0);
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
void launch_masked_keys_simt(const BackwardParams& p, const MaskedItems& items, float* sums,
                             CUstream_st* stream) {
  launch(masked_key_gradients_simt_kernel<Sizes>, items.blocks(p.attend.kv_heads), Sizes::kThreads,
         Sizes::kBytes, stream, p, items, sums);
}
template <class Sizes>
void launch_masked_queries_simt(const BackwardParams& p, CUstream_st* stream) {
  launch(masked_query_gradient_simt_kernel<Sizes>,
         std::int64_t{RowTile::tiles(p.attend, p.attend.group, Sizes::kRows)} * p.attend.kv_heads,
         Sizes::kThreads, Sizes::kBytes, stream, p);
}

}  // namespace nsa::cuda
