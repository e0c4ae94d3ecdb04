// Turns the lists of blocks around for `fused_block`: of a chunk of queries and one KV head, which
// of them chose a block. The blocks near a query, the first one, its own and the one before that,
// are left out: neighbours share them, and they are added where the results are merged.
#include "attend_selected/cuda/fused_block/launch.hpp"

#include "attend_selected/cuda/fused_block/params.cuh"
#include "cuda/launch/programmatic_launch.cuh"

namespace nsa::cuda {
namespace {

constexpr int kListThreads = 1024, kListWarps = kListThreads / 32;
constexpr unsigned short kNoPick = 0xffff;

/// Shared memory of the kernel.
struct ListMemory {
  int* counts;            // [table] queries of a block, then where its next entry goes
  std::int64_t* sums;     // [warps] of a scan
  unsigned short* picks;  // [chunk, sel_count] place in the table, kNoPick = none
};

/// Lanes that work on one query: 16 or 32.
__device__ int lanes_of_query(const BlockParams& p) { return p.attend.sel_count <= 16 ? 16 : 32; }
/// The bits of a ballot that belong to this lane's query, moved down.
__device__ unsigned of_query(unsigned ballot, int lanes) {
  const int first = static_cast<int>(threadIdx.x) % 32 / lanes * lanes;
  return ballot >> first & (lanes == 32 ? 0xffffffffu : 0xffffu);
}

/// Whether no lane of the query before this one has the same id. Rows that ascend, unused places in
/// front, are known at once; others are compared.
__device__ bool is_first(int id, int lanes) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int before = __shfl_up_sync(0xffffffffu, id, 1, lanes);
  const bool ascends = lane % lanes == 0 || (id >= 0 ? before < id : before < 0);
  if (__all_sync(0xffffffffu, ascends)) return true;
  const unsigned same = __match_any_sync(0xffffffffu, id >= 0 ? 2 * id + lane / lanes : -1 - lane);
  return __ffs(static_cast<int>(same)) - 1 == lane;
}

/// One id per lane of query `query` (or none): counts the picks, keeps them, writes `near`.
__device__ void take_row(const BlockParams& p, const ListMemory& memory, int stage, int query,
                         int id, int lanes) {
  const int lane = static_cast<int>(threadIdx.x) % 32, i = lane % lanes;
  const bool exists = query < p.queries(stage);
  int own = -1;
  std::int64_t sequence = 0;
  if (exists) {
    const std::int64_t token = p.first_token(stage) + query;
    sequence = sequence_index(p.attend.sequences, p.attend.batch, token);
    own = position_of_token(p.attend.sequences[sequence], token) / p.attend.sel_block;
  }
  const bool valid = id >= 0 && id <= own;
  const bool first = is_first(id, lanes) && valid;
  const bool pick = first && id != 0 && id < own - 1;
  const unsigned picks = of_query(__ballot_sync(0xffffffffu, pick), lanes);
  const unsigned at_own = of_query(__ballot_sync(0xffffffffu, first && id == own), lanes);
  const unsigned before = of_query(__ballot_sync(0xffffffffu, first && id == own - 1), lanes);
  const unsigned at_first =
      of_query(__ballot_sync(0xffffffffu, first && id == 0 && own > 1), lanes);
  const int index = static_cast<int>(sequence) * p.blocks_of_sequence + id;
  if (pick) atomicAdd(memory.counts + index, 1);
  if (exists && i < p.attend.sel_count)
    memory.picks[query * p.attend.sel_count + i] =
        pick ? static_cast<unsigned short>(index) : kNoPick;
  if (exists && i == 0)
    p.near[std::int64_t{stage} * p.chunk + query] =
        __popc(picks) << kNearShift | (at_first ? kChoseFirst : 0) | (before ? kChoseBefore : 0) |
        (at_own ? kChoseOwn : 0);
}

/// All rows of the stage, some at a time, so that their loads run together.
[[maybe_unused]] __device__ void count_picks(const BlockParams& p, const ListMemory& memory,
                                             int stage) {
  constexpr int kAtOnce = 4;
  const int lanes = lanes_of_query(p), lane = static_cast<int>(threadIdx.x) % 32;
  const int each = 32 / lanes, warp = static_cast<int>(threadIdx.x) / 32;
  const int queries = p.queries(stage), i = lane % lanes;
  const std::int32_t* blocks = p.attend.blocks + p.first_token(stage) * p.attend.blocks_row_stride +
                               p.head_of(stage) * p.attend.blocks_head_stride;
  for (int first = warp * each; first < queries; first += kAtOnce * kListWarps * each) {
    int ids[kAtOnce];
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r) {
      const int query = first + r * kListWarps * each + lane / lanes;
      const bool exists = query < queries && i < p.attend.sel_count;
      ids[r] =
          exists ? blocks[query * p.attend.blocks_row_stride + i * p.attend.blocks_id_stride] : -1;
    }
#pragma unroll
    for (int r = 0; r < kAtOnce; ++r)
      take_row(p, memory, stage, first + r * kListWarps * each + lane / lanes, ids[r], lanes);
  }
}

/// Sum over the threads before this one; all threads call it.
__device__ std::int64_t sum_of_threads_before(std::int64_t mine, std::int64_t* sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  std::int64_t sum = mine;
  for (int step = 1; step < 32; step *= 2) {
    const std::int64_t other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  std::int64_t before = 0;
  for (int w = 0; w < warp; ++w) before += sums[w];
  return before + sum - mine;
}

/// Where the entries of each block begin, and the items. Entries in the low half, items above.
[[maybe_unused]] __device__ void place_lists(const BlockParams& p, const ListMemory& memory,
                                             int stage) {
  const int each = (p.table + kListThreads - 1) / kListThreads;
  const int first = static_cast<int>(threadIdx.x) * each, last = min(first + each, p.table);
  std::int64_t mine = 0;
  for (int i = first; i < last; ++i) {
    const int count = memory.counts[i];
    mine += count + (std::int64_t{(count + p.item_queries - 1) / p.item_queries} << 32);
  }
  const std::int64_t before = sum_of_threads_before(mine, memory.sums);
  int entry = static_cast<int>(before), item = static_cast<int>(before >> 32);
  BlockItem* items = p.items + std::int64_t{stage} * p.item_cap;
  for (int i = first; i < last; ++i) {
    const int count = memory.counts[i];
    for (int done = 0; done < count; done += p.item_queries)
      items[item++] = {i, entry + done, min(p.item_queries, count - done), 0};
    memory.counts[i] = entry;
    entry += count;
  }
  if (threadIdx.x == kListThreads - 1) p.item_counts[stage] = item;
}

/// The entries. Their order within a block changes from launch to launch; no result does.
[[maybe_unused]] __device__ void write_entries(const BlockParams& p, const ListMemory& memory,
                                               int stage) {
  const int lanes = lanes_of_query(p), lane = static_cast<int>(threadIdx.x) % 32;
  const int each = 32 / lanes, warp = static_cast<int>(threadIdx.x) / 32, i = lane % lanes;
  const int queries = p.queries(stage);
  int* entries = p.entries + std::int64_t{stage} * p.chunk * p.attend.sel_count;
  for (int first = warp * each; first < queries; first += kListWarps * each) {
    const int query = first + lane / lanes;
    const bool exists = query < queries && i < p.attend.sel_count;
    const unsigned short index = exists ? memory.picks[query * p.attend.sel_count + i] : kNoPick;
    const unsigned picks = of_query(__ballot_sync(0xffffffffu, index != kNoPick), lanes);
    if (index == kNoPick) continue;
    const int slot = __popc(picks & ((1u << i) - 1));
    entries[atomicAdd(memory.counts + index, 1)] = query | slot << kSlotShift;
  }
}

/// A thread block per stage.
__global__ void __launch_bounds__(kListThreads)
    block_lists_kernel(const __grid_constant__ BlockParams p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // launched on no other target
  const int stage = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  auto* sums = reinterpret_cast<std::int64_t*>(dynamic_shared());
  auto* counts = reinterpret_cast<int*>(sums + kListWarps);
  const ListMemory memory{counts, sums, reinterpret_cast<unsigned short*>(counts + p.table)};
  griddep_launch_dependents();
  for (int i = thread; i < p.table; i += kListThreads) counts[i] = 0;
  if (thread == 0) {
    p.items_done[stage] = p.tiles_done[stage] = 0;
    if (stage == 0) *p.ticket = 0;
  }
  __syncthreads();
  count_picks(p, memory, stage);
  __syncthreads();
  place_lists(p, memory, stage);
  __syncthreads();
  write_entries(p, memory, stage);
#else
  __trap();
#endif
}

}  // namespace

void launch_block_lists(const BlockParams& p, CUstream_st* stream) {
  const auto bytes =
      static_cast<std::size_t>(kListWarps * 8 + p.table * 4 + p.chunk * p.attend.sel_count * 2);
  launch(block_lists_kernel, p.stages, kListThreads, bytes, stream, p);
}

}  // namespace nsa::cuda
