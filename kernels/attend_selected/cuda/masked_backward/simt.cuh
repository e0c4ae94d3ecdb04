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
  const KeyItem item = key_item(items, p);
  if (item.place < 0) return;
  const SimtShared<Sizes> shared(dynamic_shared());
  const AttendParams& a = p.attend;
  load_tile_keys_simt<Sizes>(p, item, shared);
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
  write_sums_simt<Sizes>(sums, item, d_k, d_v);
}

template <class Sizes>
__global__ void __launch_bounds__(Sizes::kThreads)
    masked_query_gradient_simt_kernel(const __grid_constant__ BackwardParams p) {
  make_query_gradients_simt<Sizes, MaskedPass<Sizes::kKeys>>(p);
}

template <class Sizes>
void launch_masked_keys_simt(const BackwardParams& p, const MaskedItems& items, float* sums,
                             CUstream_st* stream) {
  launch(masked_key_gradients_simt_kernel<Sizes>, items.blocks(p.attend.kv_heads), Sizes::kThreads,
         Sizes::kBytes, stream, p, items, sums);
}
template <class Sizes>
void launch_masked_queries_simt(const BackwardParams& p, CUstream_st* stream) {
  launch_row_tiles<Sizes>(masked_query_gradient_simt_kernel<Sizes>, Sizes::kBytes, stream, p);
}

}  // namespace nsa::cuda
