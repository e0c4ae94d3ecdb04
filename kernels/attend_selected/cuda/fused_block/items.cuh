// First kind of work of `fused_block`: a block of keys, and the queries that picked it. Every key
// of it is in the past of all of them, so nothing is masked. While one item is worked on, the keys,
// the entries and the first queries of the next are on their way.
#pragma once

#include "attend_selected/cuda/fused_block/tile.cuh"

namespace nsa::cuda {

/// Attention of 64 rows to one block, and its partial result: o normalised, log2-sum-exp beside it.
/// `place` of each of the thread's rows is where it goes, negative where nowhere; it is written as
/// a stream, so that keys and queries stay in the L2.
/// `before_writes` is called once the products are done.
template <class Sizes, class BeforeWrites>
__device__ __forceinline__ void attend_block_rows(const BlockParams& p, std::uint32_t q,
                                                  std::uint32_t k, const int (&place)[2],
                                                  BeforeWrites before_writes) {
  using T = typename Sizes::Storage;
  constexpr int kDv = Sizes::kDv;
  float s[32], o[kDv / 2], sum[2], reference[2];
  block_logits<Sizes>(q, k, s);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    reference[i] = block_row_max(s, i) * p.attend.scale_log2;
    sum[i] = block_weigh(s, i, p.attend.scale_log2, reference[i]);
  }
  block_values<Sizes>(k + Sizes::kKBytes, s, o, false);
  before_writes();
  const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    sum[i] = sum_of_row(sum[i]);
    if (place[i] < 0) continue;
    const float inverse = __fdividef(1.0f, sum[i]);
    auto* to = static_cast<uint4*>(p.partial_o) + std::int64_t{place[i]} * (kDv / 8) + t;
#pragma unroll
    for (int h = 0; h < kDv / 32; ++h) {
      std::uint32_t word[4];
#pragma unroll
      for (int w = 0; w < 4; ++w)
        word[w] = pack_pair<T>(o[16 * h + 4 * w + 2 * i] * inverse,
                               o[16 * h + 4 * w + 2 * i + 1] * inverse);
      __stcs(to + 4 * h, make_uint4(word[0], word[1], word[2], word[3]));
    }
    if (t == 0) __stcg(p.partial_lse + place[i], reference[i] + log2_fast(sum[i]));
  }
}

/// What begins an item: its keys, then its entries, then the queries of its first tile.
template <class Sizes>
__device__ void ask_item_keys(const BlockParams& p, BlockKeys<Sizes>& keys, const BlockWork& work) {
  const int sequence = work.item.index / p.blocks_of_sequence;
  const int block = work.item.index - sequence * p.blocks_of_sequence;
  keys.ask(work.head,
           static_cast<int>(p.attend.sequences[sequence].kv_begin) + block * Sizes::kKeys);
}
__device__ inline void load_item_entries(const BlockParams& p, const BlockWork& work, int* to) {
  const int* from =
      p.entries + std::int64_t{work.stage} * p.chunk * p.attend.sel_count + work.item.begin;
  for (int i = static_cast<int>(threadIdx.x); i < work.item.count; i += 128)
    copy_async_4(sm90::shared_address(to + i), from + i);
}
template <class Sizes>
__device__ __forceinline__ void load_item_queries(const BlockParams& p,
                                                  const BlockShared<Sizes>& shared,
                                                  const typename Sizes::Storage* queries,
                                                  const int* entries, int count, int tile,
                                                  int buffer) {
  const int first = tile * p.tile_queries, last = count - 1;
  load_block_queries(p, shared, queries, buffer, [&](int q) {
    return entries[min(first + q, last)] & ((1 << kSlotShift) - 1);
  });
}

/// The queries that this thread asked for are there, for the products after the next barrier. Not
/// after writes of results: the fence would wait for them too.
__device__ inline void settle_queries() {
  wait_all_copies();
  sm90::fence_shared();
}

/// The item at hand, where nothing of it has begun.
template <class Sizes>
__device__ void begin_item(const BlockParams& p, const BlockShared<Sizes>& shared,
                           BlockKeys<Sizes>& keys, BlockState& state, const BlockWork& work,
                           int* entries) {
  __syncthreads();  // all have left the piece before
  state.count_done();
  ask_item_keys(p, keys, work);
  load_item_entries(p, work, entries);
  wait_all_copies();
  if (threadIdx.x == 0 && !work.free)
    wait_for_count(p.tiles_done + work.stage - p.ring, p.tiles(work.stage - p.ring));
  __syncthreads();
  load_item_queries(p, shared, stage_queries<typename Sizes::Storage>(p, work), entries,
                    work.item.count, 0, state.buffer);
  settle_queries();
}

/// `prefetch()` finds the next piece of work while the copies of this one are under way.
template <class Sizes, class Prefetch>
__device__ void attend_item(const BlockParams& p, const BlockShared<Sizes>& shared,
                            BlockKeys<Sizes>& keys, BlockState& state, Prefetch prefetch) {
  using T = typename Sizes::Storage;
  const BlockWork work = shared.work[state.turn];
  const T* queries = stage_queries<T>(p, work);
  int* entries = shared.entries + state.turn * BlockShared<Sizes>::kEntries;
  int* next_entries = shared.entries + (state.turn ^ 1) * BlockShared<Sizes>::kEntries;
  if (!state.primed) begin_item(p, shared, keys, state, work, entries);
  prefetch();
  int query[2], head[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    query[i] = shared.rows[block_row(i)] >> 8;
    head[i] = p.partial_row(work.stage, 0, 0, shared.rows[block_row(i)] & 0xff);
  }
  const int tiles = (work.item.count + p.tile_queries - 1) / p.tile_queries;
  std::uint32_t k = 0;
  bool next = false, loaded = false;  // the next piece is an item that can begin; has begun
  for (int tile = 0; tile < tiles; ++tile) {
    __syncthreads();
    const BlockWork& ahead = shared.work[state.turn ^ 1];
    if (tile == 0) {
      state.count_done();
      next = Sizes::kStages > 1 && ahead.kind == BlockWork::kItem && ahead.free;
      if (next) {
        ask_item_keys(p, keys, ahead);
        load_item_entries(p, ahead, next_entries);
      }
      k = keys.take();
    }
    if (tile + 1 < tiles) {
      load_item_queries(p, shared, queries, entries, work.item.count, tile + 1, state.buffer ^ 1);
    } else if (next && tile > 0) {
      load_item_queries(p, shared, stage_queries<T>(p, ahead), next_entries, ahead.item.count, 0,
                        state.buffer ^ 1);
      loaded = true;
    }
    int entry[2], place[2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
      entry[i] = entries[min(tile * p.tile_queries + query[i], work.item.count - 1)];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const bool exists =
          query[i] < p.tile_queries && tile * p.tile_queries + query[i] < work.item.count;
      const int row =
          (entry[i] & ((1 << kSlotShift) - 1)) * p.attend.sel_count + (entry[i] >> kSlotShift);
      place[i] = exists ? head[i] + row * p.attend.group : -1;
    }
    attend_block_rows<Sizes>(p,
                             sm90::shared_address(shared.queries) +
                                 static_cast<std::uint32_t>(state.buffer * Sizes::kQBytes),
                             k, place, settle_queries);
    state.buffer ^= 1;
  }
  if (next && !loaded) {
    wait_all_copies();
    __syncthreads();
    const BlockWork& ahead = shared.work[state.turn ^ 1];
    load_item_queries(p, shared, stage_queries<T>(p, ahead), next_entries, ahead.item.count, 0,
                      state.buffer);
    settle_queries();
  }
  state.primed = next;
  state.turn ^= 1;
  state.done = p.items_done + work.stage;
}

}  // namespace nsa::cuda
