// `fused_block`: a block of keys stays, and the queries that picked it come to it. Where neighbours
// share no blocks a walk over the blocks of each query reads every key once per query; here a block
// is read once per chunk of queries, and what is read and written per pick is a query and a partial
// result instead. Two kernels: lists.cu says who picked what, and this one works on it
// in an order in which little is in memory at a time: the items of a stage (a chunk of queries and
// a KV head), then the tiles of a stage before, which merge its partial results. Thread blocks
// take numbered pieces of work; a piece waits for pieces with smaller numbers only, which are
// running or done, so it is not waiting forever.
#pragma once

#include "attend_selected/cuda/fused_block/items.cuh"
#include "attend_selected/cuda/fused_block/merge.cuh"
#include "cuda/launch/programmatic_launch.cuh"

namespace nsa::cuda {

/// Thread 0's view of the numbered pieces of work.
struct BlockSchedule {
  int ticket = 0;           // the piece that is next
  int base = 0, stage = 0;  // first piece of the stage at hand
  int items = 0, tiles = 0;
  int merged = -1;  // the last stage whose tiles are known to be done

  /// Whether the partial results that lie where those of the stage at hand go have been merged.
  __device__ bool is_free(const BlockParams& p) {
    const int before = stage - p.ring;
    if (before <= merged) return true;
    if (count_now(p.tiles_done + before) < p.tiles(before)) return false;
    merged = before;
    return true;
  }
  __device__ void open(const BlockParams& p) {
    items = stage < p.stages ? p.item_counts[stage] : 0;
    tiles = stage >= p.lag ? p.tiles(stage - p.lag) : 0;
  }
  __device__ void start(const BlockParams& p) {
    ticket = atomicAdd(p.ticket, 1);
    open(p);
  }
  __device__ BlockWork next(const BlockParams& p) {
    BlockWork work{.kind = BlockWork::kEnd};
    while (ticket >= base + items + tiles) {
      base += items + tiles;
      if (++stage >= p.stages + p.lag) return work;
      open(p);
    }
    const int place = ticket - base;
    if (place < items) {
      work.kind = BlockWork::kItem;
      work.stage = stage;
      work.free = is_free(p);
      work.item = p.items[std::int64_t{stage} * p.item_cap + place];
    } else {
      work.kind = BlockWork::kTile;
      work.stage = stage - p.lag;
      work.tile = place - items;
    }
    work.head = p.head_of(work.stage);
    work.first_token = p.first_token(work.stage);
    ticket = atomicAdd(p.ticket, 1);
    return work;
  }
};

/// Which query and head of the group a row of a tile is; rows past the last query are the first
/// row of a query that no tile has.
template <class Sizes>
__device__ void fill_rows(const BlockParams& p, const BlockShared<Sizes>& shared) {
  const int row = static_cast<int>(threadIdx.x);
  if (row >= Sizes::kRows) return;
  const int query = row / p.attend.group;
  const bool exists = query < p.tile_queries;
  shared.rows[row] = static_cast<std::uint16_t>(exists ? query << 8 | (row - query * p.attend.group)
                                                       : p.tile_queries << 8);
}

template <class Sizes>
__device__ void fused_block_worker(const BlockParams& p, unsigned char* memory) {
  const BlockShared<Sizes> shared(memory);
  BlockKeys<Sizes> keys{p, shared.keys, shared.barriers};
  BlockSchedule schedule;
  if (threadIdx.x == 0) {
    for (int i = 0; i < Sizes::kStages; ++i) sm90::barrier_init(keys.barrier(i), 1);
    sm90::barrier_fence();
  }
  fill_rows(p, shared);
  griddep_wait();
  if (threadIdx.x == 0) {
    schedule.start(p);
    shared.work[0] = schedule.next(p);
  }
  __syncthreads();
  BlockState state;
  for (;;) {
    const int kind = shared.work[state.turn].kind;
    if (kind == BlockWork::kEnd) break;
    const auto prefetch = [&] {
      if (threadIdx.x == 0) shared.work[state.turn ^ 1] = schedule.next(p);
    };
    if (kind == BlockWork::kItem) {
      attend_item(p, shared, keys, state, prefetch);
    } else {
      merge_tile(p, shared, keys, state, prefetch);
    }
  }
  __syncthreads();
  state.count_done();
}

template <class Sizes>
__global__ void __launch_bounds__(Sizes::kThreads, Sizes::kBlocks)
    fused_block_kernel(const __grid_constant__ BlockParams p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // launched on no other target
  unsigned char* shared = dynamic_shared();
  shared += (0u - sm90::shared_address(shared)) % Sizes::kAlignment;
  fused_block_worker<Sizes>(p, shared);
#else
  __trap();
#endif
}

}  // namespace nsa::cuda
