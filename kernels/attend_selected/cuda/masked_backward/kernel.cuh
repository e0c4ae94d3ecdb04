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
  using T = typename Sizes::Storage;
  const AttendParams& a = p.attend;
  const RowTile at(a, a.group, Sizes::kRows);
  if (at.first_row >= at.rows) return;
  const QueryShared<Sizes> shared(dynamic_shared());
  load_tile<T, Sizes::kDk, Sizes::kRows>(shared.q, a.dk, a.q.vectors, [&](int row) -> const T* {
    return at.holds(row) ? head_row<const T>(a.q, at.token(row), at.head(row)) : nullptr;
  });
  load_tile<T, Sizes::kDv, Sizes::kRows>(shared.d_o, a.dv, p.d_o.vectors, [&](int row) -> const T* {
    return at.holds(row) ? head_row<const T>(p.d_o, at.token(row), at.head(row)) : nullptr;
  });

  const std::int64_t base = at.sequence.kv_begin;
  const int end = at.position(min(at.rows - at.first_row, Sizes::kRows) - 1) + 1;
  // A tile of keys does not reach into the next block.
  const auto after = [&](int first) {
    const int block_end = (first / a.sel_block + 1) * a.sel_block;
    return min(first + Sizes::kKeys, block_end);
  };
  const auto load_keys = [&](int first, int stage) {
    const int behind = min(after(first), end);
    load_tile<T, Sizes::kDk, Sizes::kKeys>(
        shared.k(stage), a.dk, a.k.vectors, [&](int key) -> const T* {
          return first + key < behind ? head_row<const T>(a.k, base + first + key, at.kv_head)
                                      : nullptr;
        });
    load_tile<T, Sizes::kDv, Sizes::kKeys>(
        shared.v(stage), a.dv, a.v.vectors, [&](int key) -> const T* {
          return first + key < behind ? head_row<const T>(a.v, base + first + key, at.kv_head)
                                      : nullptr;
        });
    commit_copies();
  };
  load_keys(0, 0);

  const auto warp = threadIdx.x / 32;
  const int own = static_cast<int>(16 * warp + lane_id() / 4);
  QueryRows rows = query_rows(p, at, own);
  RowsOperand<Sizes::kDk, Sizes::kNarrow> q(shared_address_of(shared.q) +
                                            warp * 16 * kTileRow<Sizes::kDk>);
  RowsOperand<Sizes::kDv, Sizes::kNarrow> d_o(shared_address_of(shared.d_o) +
                                              warp * 16 * kTileRow<Sizes::kDv>);
  float d_q[Sizes::kDk / 8][4] = {};
  int stage = 0;
  for (int first = 0; first < end; first = after(first)) {
    wait_copies<0>();
    __syncthreads();
    if (first == 0) {
      q.hold();
      d_o.hold();
    }
    const int behind = after(first);
    if (behind < end) load_keys(behind, stage ^ 1);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = own + 8 * i;
      const bool chosen = at.holds(row) && chose(a, at.token(row), at.kv_head, first / a.sel_block);
      rows.seen[i] = {first, chosen ? min(at.position(row) + 1, behind) : first};
    }
#pragma unroll 1
    for (int half = 0; half < Sizes::kKeys / 32; ++half) {
      const auto skipped = static_cast<std::uint32_t>(32 * half);
      add_keys<Sizes>(q, d_o, rows,
                      shared_address_of(shared.k(stage)) + skipped * kTileRow<Sizes::kDk>,
                      shared_address_of(shared.v(stage)) + skipped * kTileRow<Sizes::kDv>,
                      first + 32 * half, a.scale_log2, d_q);
    }
    stage ^= 1;
  }
  wait_copies<0>();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = own + 8 * i;
    if (!at.holds(row)) continue;
#pragma unroll
    for (int n = 0; n < Sizes::kDk / 8; ++n)
      put_gradient_pair<T>(p.d_q, at.token(row), at.head(row),
                           8 * n + static_cast<int>(lane_id()) % 4 * 2, a.dk,
                           d_q[n][2 * i] * p.scale, d_q[n][2 * i + 1] * p.scale);
  }
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
        launch(masked_query_gradient_kernel<Sizes>,
               std::int64_t{RowTile::tiles(p.attend, p.attend.group, Sizes::kRows)} *
                   p.attend.kv_heads,
               Sizes::kThreads, QueryShared<Sizes>::kBytes, stream, p);
      },
      [&] { launch_masked_queries_simt<SimtSizes<T, 256>>(p, stream); });
}

}  // namespace nsa::cuda
