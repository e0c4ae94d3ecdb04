// The kernel of the gradients of K and V, and, where it is asked, of q from the same logits.
#pragma once

#include "cuda/backward/tiles/keys_mma.cuh"
#include "cuda/backward/tiles/query_piece.cuh"

namespace nsa::cuda {

/// The product of the gradients of logits with K: the rows' gradient of q from this tile of keys.
/// Each warp takes 16 rows and a part of the columns.
template <class Sizes>
__device__ void add_queries(const KeyShared<Sizes>& shared, const KeyOutputs& out, int stage,
                            float scale) {
  using T = typename Sizes::Storage;
  constexpr int kRowTiles = Sizes::kRows / 16, kParts = 4 / kRowTiles;
  constexpr int kColumns = Sizes::kDk / kParts;
  const std::uint32_t lane = lane_id(), warp = threadIdx.x / 32;
  const std::uint32_t first = warp % kRowTiles * 16, begin = warp / kRowTiles * kColumns;
  const std::uint32_t weights = shared_address_of(shared.weights) +
                                (lane % 8 + lane / 16 * 8) * Sizes::kWeightRow +
                                (first + lane / 8 % 2 * 8) * 2;
  const std::uint32_t k = shared_address_of(shared.k) + begin * 2;
  const std::int64_t* place = shared.place(stage) + first + lane / 4;
  const std::int64_t places[2] = {place[0], place[8]};
#pragma unroll 1
  for (std::uint32_t column = 0; column < kColumns; column += 32) {
    float c[4][4] = {};
#pragma unroll
    for (std::uint32_t kk = 0; kk < Sizes::kKeys / 16; ++kk) {
      std::uint32_t a[4];
      load_matrices_transposed(a, weights + kk * 16 * Sizes::kWeightRow);
      add_product<T, Sizes::kDk>(c, a, k + kk * 16 * kTileRow<Sizes::kDk> + column * 2);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (places[i] < 0) continue;
      float own[16];
#pragma unroll
      for (int n = 0; n < 4; ++n) own[4 * n] = c[n][2 * i], own[4 * n + 1] = c[n][2 * i + 1];
      put_query_piece<T>(out, places[i] * Sizes::kDk + begin + column, own, scale);
    }
  }
}

template <class Sizes>
__device__ void load_keys(const BackwardParams& p, const KeyItem& item,
                          const KeyShared<Sizes>& shared) {
  using T = typename Sizes::Storage;
  const AttendParams& a = p.attend;
  const KeyTile& tile = item.keys;
  load_tile<T, Sizes::kDk, Sizes::kKeys>(shared.k, a.dk, a.k.vectors, [&](int key) -> const T* {
    return key < tile.count ? head_row<const T>(a.k, tile.row + key, item.kv_head) : nullptr;
  });
  load_tile<T, Sizes::kDv, Sizes::kKeys>(shared.v, a.dv, a.v.vectors, [&](int key) -> const T* {
    return key < tile.count ? head_row<const T>(a.v, tile.row + key, item.kv_head) : nullptr;
  });
}

template <class Sizes, class Items>
__global__ void __launch_bounds__(Sizes::kThreads, Sizes::kBlocks)
    key_gradients_kernel(const __grid_constant__ BackwardParams p,
                         const __grid_constant__ Items items,
                         const __grid_constant__ KeyOutputs out) {
  const KeyItem item = key_item(items, p);
  if (item.place < 0) return;
  const KeyShared<Sizes> shared(dynamic_shared());
  if (item.entries) {
    for (int i = static_cast<int>(threadIdx.x); i < item.queries; i += Sizes::kThreads)
      shared.entries[i] = item.entries[item.first + i];
  }
  load_keys<Sizes>(p, item, shared);
  __syncthreads();  // the entries are there
  const ItemRows rows(p, out, item, shared.entries, Sizes::kKeys);
  bool partly = load_item_rows<Sizes>(rows, shared, 0, 0);
  commit_copies();

  KeyWarp<Sizes> keys(shared, p.attend.scale_log2);
  int stage = 0;
  for (int first = 0; first < rows.count(); first += Sizes::kRows) {
    wait_copies<0>();
    const bool masked = __syncthreads_or(partly) != 0;
    if (first == 0) keys.hold();
    if (first + Sizes::kRows < rows.count()) {
      partly = load_item_rows<Sizes>(rows, shared, first + Sizes::kRows, stage ^ 1);
      commit_copies();
    }
    keys.add(stage, masked);
    if constexpr (Sizes::kQueries) {
      __syncthreads();  // all warps kept their gradients of logits
      add_queries<Sizes>(shared, out, stage, p.scale);
    }
    stage ^= 1;
  }
  keys.write(out.sums + item.place * Sizes::kKeys * (Sizes::kDk + Sizes::kDv));
}

template <class Sizes, class Items>
void launch_key_gradients(const BackwardParams& p, const Items& items, const KeyOutputs& out,
                          CUstream_st* stream) {
  launch(key_gradients_kernel<Sizes, Items>, items.blocks(p.attend.kv_heads), Sizes::kThreads,
         KeyShared<Sizes>::kBytes, stream, p, items, out);
}

}  // namespace nsa::cuda
