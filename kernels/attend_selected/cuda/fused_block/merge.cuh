// Second kind of work of `fused_block`: neighbouring queries. Their near blocks are attended to
// here, where neighbours share them; then the partial results of the blocks that they picked are
// added, in the order of the picks.
#pragma once

#include "attend_selected/cuda/fused_block/merge_rows.cuh"

namespace nsa::cuda {

/// Rows of the output from where MergeRows::write left them. All threads of a warp, which wrote the
/// same rows, call it.
template <class Sizes>
__device__ void store_merged(const BlockParams& p, const BlockShared<Sizes>& shared,
                             const BlockWork& work, int first_query, int count) {
  using T = typename Sizes::Storage;
  constexpr int kPieces = Sizes::kDv / 8;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  T* tile = head_row<T>(p.attend.o, work.first_token + first_query, work.head * p.attend.group);
  const auto row_stride = static_cast<int>(p.attend.o.row_stride);
  const auto head_stride = static_cast<int>(p.attend.o.head_stride);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 16 * kPieces / 32; ++i) {
    const int n = lane + 32 * i, row = thread / 32 * 16 + n / kPieces, piece = n % kPieces;
    const int at = shared.rows[row], q = at >> 8;
    if (q >= count) continue;
    T* to = tile + std::int64_t{q} * row_stride + (at & 0xff) * head_stride;
    reinterpret_cast<uint4*>(to)[piece] =
        *reinterpret_cast<const uint4*>(shared.queries + sm90::swizzled(Sizes::kRows, row, piece));
  }
}

template <class Sizes, class Prefetch>
__device__ void merge_tile(const BlockParams& p, const BlockShared<Sizes>& shared,
                           BlockKeys<Sizes>& keys, BlockState& state, Prefetch prefetch) {
  const BlockWork work = shared.work[state.turn];
  const int stage = work.stage, first_query = work.tile * p.tile_queries;
  const int queries =
      static_cast<int>(min(p.attend.tokens - work.first_token, std::int64_t{p.chunk}));
  const int count = min(p.tile_queries, queries - first_query);
  const int kv_head = work.head;
  const std::int64_t first = work.first_token + first_query;
  NearWalk ahead(p.attend, first, first + count - 1), walk(p.attend, first, first + count - 1);
  __syncthreads();  // all have left the piece before
  state.count_done();
  for (int i = 0; i < Sizes::kStages; ++i)
    if (ahead.next()) keys.ask(kv_head, ahead.row());
  load_block_queries(p, shared, stage_queries<typename Sizes::Storage>(p, work), 0,
                     [&](int q) { return first_query + min(q, count - 1); });
  MergeRows<Sizes> rows(p, shared, work, first_query, count);
  if (threadIdx.x == 0) wait_for_count(p.items_done + stage, p.item_counts[stage]);
  prefetch();
  wait_copies<0>();
  sm90::fence_shared();
  __syncthreads();
  rows.read_sums(p, stage);
  const std::uint32_t q = sm90::shared_address(shared.queries);
  while (walk.next()) {
    const int visible[2] = {rows.visible(0, walk), rows.visible(1, walk)};
    rows.add(q, keys.take(), visible, p.attend.scale_log2);
    __syncthreads();  // all have read the block
    if (ahead.next()) keys.ask(kv_head, ahead.row());
  }
  rows.merge(p);
  rows.write(p, shared, kv_head);
  store_merged(p, shared, work, first_query, count);
  state.primed = false;
  state.turn ^= 1;
  state.done = p.tiles_done + stage;
}

}  // namespace nsa::cuda
