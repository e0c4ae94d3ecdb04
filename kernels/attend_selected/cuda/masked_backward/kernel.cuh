// `masked` backward by tensor cores, for bf16 and fp16: gradients of K and V by tiles of keys that
// all queries from there on pass by, of q by tiles of queries that all keys so far pass by. The
// tiles are those of attention to a band; which rows see them comes from the blocks.
#pragma once

#include "attend_selected/cuda/masked_backward/simt.cuh"
#include "cuda/backward/launch_mma.cuh"

namespace nsa::cuda {

/// Writes over what the band says: no query sees a tile that it did not choose.
template <class Sizes>
__device__ void mask_item_rows(const ItemRows& rows, const KeyShared<Sizes>& shared, int first,
                               int stage) {
  const int r = static_cast<int>(threadIdx.x);
  if (r < Sizes::kRows)
    shared.seen(stage)[r] = seen_of_tile(rows.p, rows.item, rows.row(first + r).token);
}

template <class Sizes>
__global__ void __launch_bounds__(Sizes::kThreads, Sizes::kBlocks)
    masked_key_gradients_kernel(const __grid_constant__ BackwardParams p,
                                const __grid_constant__ MaskedItems items, float* sums) {
  const KeyItem item = key_item(items, p);
  if (item.place < 0) return;
  const KeyShared<Sizes> shared(dynamic_shared());
  load_keys<Sizes>(p, item, shared);
  const KeyOutputs none;
  const ItemRows rows(p, none, item, nullptr, Sizes::kKeys);
  const auto load = [&](int first, int stage) {
    load_item_rows<Sizes>(rows, shared, first, stage);
    mask_item_rows<Sizes>(rows, shared, first, stage);
    commit_copies();
  };
  load(0, 0);
  KeyWarp<Sizes> keys(shared, p.attend.scale_log2);
  int stage = 0;
  for (int first = 0; first < rows.count(); first += Sizes::kRows) {
    wait_copies<0>();
    __syncthreads();
    if (first == 0) keys.hold();
    if (first + Sizes::kRows < rows.count()) load(first + Sizes::kRows, stage ^ 1);
    keys.add(stage, true);
    stage ^= 1;
  }
  keys.write(sums + item.place * Sizes::kKeys * (Sizes::kDk + Sizes::kDv));
}

template <class Sizes>
__global__ void __launch_bounds__(Sizes::kThreads, Sizes::kBlocks)
    masked_query_gradient_kernel(const __grid_constant__ BackwardParams p) {
  make_query_gradients<Sizes, MaskedPass<Sizes::kKeys>>(p);
}

template <class T>
void launch_masked_keys(const BackwardParams& p, const MaskedItems& items, float* sums,
                        CUstream_st* stream) {
  with_backward_widths<T>(
      p.attend,
      [&](auto dk, auto dv) {
        using Sizes = KeySizes<T, dk(), dv(), false>;
        launch(masked_key_gradients_kernel<Sizes>, items.blocks(p.attend.kv_heads), Sizes::kThreads,
               KeyShared<Sizes>::kBytes, stream, p, items, sums);
      },
      [&] { launch_masked_keys_simt<SimtSizes<T, 256>>(p, items, sums, stream); });
}

template <class T>
void launch_masked_queries(const BackwardParams& p, CUstream_st* stream) {
  with_backward_widths<T>(
      p.attend,
      [&](auto dk, auto dv) {
        using Sizes = QuerySizesBackward<T, dk(), dv()>;
        launch_row_tiles<Sizes>(masked_query_gradient_kernel<Sizes>, QueryShared<Sizes>::kBytes,
                                stream, p);
      },
      [&] { launch_masked_queries_simt<SimtSizes<T, 256>>(p, stream); });
}

}  // namespace nsa::cuda
