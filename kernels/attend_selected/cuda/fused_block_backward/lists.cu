// Lists of the queries that chose a block, by bits: a query's bit in a block's row says that it
// chose it, and the number of bits in front of it is its place in the list.
#include "attend_selected/cuda/fused_block_backward/lists.hpp"

#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"

namespace nsa::cuda {
namespace {

constexpr int kThreads = 256, kScanThreads = 1024, kScanWarps = kScanThreads / 32;

/// A pick: one of the blocks that a query names.
struct Pick {
  int query = 0, kv_head = 0, slot = 0;
  int id = -1;              // -1: none that counts
  std::int64_t row = 0;     // of bits
  std::int64_t number = 0;  // of the chunk's picks
};

__device__ inline int block_id(const ListParams& p, std::int64_t token, int kv_head, int slot) {
  const AttendParams& a = p.backward.attend;
  return a.blocks[token * a.blocks_row_stride + kv_head * a.blocks_head_stride +
                  slot * a.blocks_id_stride];
}

/// The pick of this thread. Ids that are negative, of blocks after the query, or named before by
/// the same query do not count.
__device__ inline bool find_pick(const ListParams& p, Pick& pick) {
  const AttendParams& a = p.backward.attend;
  pick.number = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (pick.number >= std::int64_t{p.queries} * a.kv_heads * a.sel_count) return false;
  const auto row = static_cast<int>(pick.number / a.sel_count);
  pick.slot = static_cast<int>(pick.number - std::int64_t{row} * a.sel_count);
  pick.query = row / a.kv_heads;
  pick.kv_head = row - pick.query * a.kv_heads;
  const std::int64_t token = p.first_token + pick.query;
  const int id = block_id(p, token, pick.kv_head, pick.slot);
  const std::int64_t b = sequence_index(a.sequences, a.batch, token);
  const Sequence s = a.sequences[b];
  const auto position = static_cast<int>(s.kv_len - s.q_len + token - s.q_begin);
  if (id < 0 || id > position / a.sel_block || token >= s.q_begin + s.q_len) return true;
  for (int i = 0; i < pick.slot; ++i) {
    if (block_id(p, token, pick.kv_head, i) == id) return true;
  }
  pick.id = id;
  pick.row = std::int64_t{pick.kv_head} * p.items.table + b * p.items.blocks_of_sequence + id;
  return true;
}

__global__ void __launch_bounds__(kThreads)
    mark_picks_kernel(const __grid_constant__ ListParams p) {
  Pick pick;
  if (!find_pick(p, pick)) return;
  p.picked[pick.number] = pick.id >= 0;
  if (pick.id >= 0)
    atomicOr(p.bits + pick.row * p.words + pick.query / 32, 1u << (pick.query % 32));
}

/// Sums over the threads before this one and over all, of a whole thread block.
struct BlockSum {
  int before, all;
};
__device__ BlockSum sum_of_block(int mine, int* sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  int sum = mine;
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  __syncthreads();  // sums of a call before are no longer read
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  BlockSum result{sum - mine, 0};
  for (int w = 0; w < kScanWarps; ++w) {
    if (w < warp) result.before += sums[w];
    result.all += sums[w];
  }
  return result;
}

__device__ inline int4 count_bits(uint4 words) {
  return make_int4(__popc(words.x), __popc(words.y), __popc(words.z), __popc(words.w));
}

/// How many entries stand in front of each word of a KV head; returns how many there are.
__device__ int count_entries(const ListParams& p, int kv_head, int* sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t quads = std::int64_t{p.items.table} * p.words / 4;
  const auto* bits = reinterpret_cast<const uint4*>(p.bits) + kv_head * quads;
  auto* before = reinterpret_cast<int4*>(p.before) + kv_head * quads;
  const std::int64_t each = (quads + kScanThreads - 1) / kScanThreads * 32;  // of a warp
  const std::int64_t begin = warp * each, end = min(begin + each, quads);
  int mine = 0;
  for (std::int64_t i = begin + lane; i < end; i += 32) {
    const int4 counts = count_bits(bits[i]);
    mine += counts.x + counts.y + counts.z + counts.w;
  }
  const BlockSum sum = sum_of_block(mine, sums);
  int running = __shfl_sync(0xffffffffu, sum.before, 0);  // in front of the warp's words
  for (std::int64_t i = begin + lane; i - lane < end; i += 32) {
    const int4 counts = i < end ? count_bits(bits[i]) : make_int4(0, 0, 0, 0);
    const int own = counts.x + counts.y + counts.z + counts.w;
    int scan = own;
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, scan, step);
      if (lane >= step) scan += other;
    }
    const int first = running + scan - own;
    if (i < end)
      before[i] = make_int4(first, first + counts.x, first + counts.x + counts.y,
                            first + counts.x + counts.y + counts.z);
    running += __shfl_sync(0xffffffffu, scan, 31);
  }
  return sum.all;
}

/// A thread block per KV head: where each list begins, and its runs.
__global__ void __launch_bounds__(kScanThreads)
    scan_lists_kernel(const __grid_constant__ ListParams p) {
  __shared__ int sums[kScanWarps];
  const ListedItems& items = p.items;
  const int kv_head = static_cast<int>(blockIdx.x), table = items.table;
  const int all = count_entries(p, kv_head, sums);
  __syncthreads();
  const int* before = p.before + std::int64_t{kv_head} * table * p.words;
  const auto begin_of = [&](int index) {
    return index < table ? before[std::int64_t{index} * p.words] : all;
  };
  const int each = (table + kScanThreads - 1) / kScanThreads;
  const int first = min(static_cast<int>(threadIdx.x) * each, table),
            last = min(first + each, table);
  int runs = 0;
  for (int i = first; i < last; ++i)
    runs += (begin_of(i + 1) - begin_of(i) + p.run_queries - 1) / p.run_queries;
  const BlockSum sum = sum_of_block(runs, sums);
  int run = sum.before;
  int* first_run = items.first_run + kv_head * (table + 1);
  ListedRun* out = items.runs + std::int64_t{kv_head} * items.most_runs;
  for (int i = first; i < last; ++i) {
    first_run[i] = run;
    const int begin = begin_of(i), end = begin_of(i + 1);
    for (int at = begin; at < end; at += p.run_queries)
      out[run++] = {i, at, min(p.run_queries, end - at), 0};
  }
  if (threadIdx.x == 0) first_run[table] = sum.all;
}

__global__ void __launch_bounds__(kThreads)
    write_entries_kernel(const __grid_constant__ ListParams p) {
  Pick pick;
  if (!find_pick(p, pick) || pick.id < 0) return;
  const std::int64_t word = pick.row * p.words + pick.query / 32;
  const int place = p.before[word] + __popc(p.bits[word] & ((1u << (pick.query % 32)) - 1));
  p.items.entries[pick.kv_head * p.items.most_entries + place] = pick.query | pick.slot
                                                                                  << kEntryShift;
}

}  // namespace

void make_lists(const ListParams& p, CUstream_st* stream) {
  const AttendParams& a = p.backward.attend;
  const std::int64_t words = std::int64_t{a.kv_heads} * p.items.table * p.words;
  const std::int64_t picks = std::int64_t{p.queries} * a.kv_heads * a.sel_count;
  const std::int64_t blocks = (picks + kThreads - 1) / kThreads;
  NSA_CUDA(cudaMemsetAsync(p.bits, 0, static_cast<std::size_t>(words) * 4, stream));
  launch(mark_picks_kernel, blocks, kThreads, 0, stream, p);
  launch(scan_lists_kernel, a.kv_heads, kScanThreads, 0, stream, p);
  launch(write_entries_kernel, blocks, kThreads, 0, stream, p);
}

}  // namespace nsa::cuda
