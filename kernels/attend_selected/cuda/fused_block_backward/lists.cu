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

/// How many chose each block, a warp per row of bits. Counts by atomics of the picks would take
/// longer: all queries choose the first block.
__global__ void __launch_bounds__(kThreads)
    count_rows_kernel(const __grid_constant__ ListParams p, int rows) {
  const int lane = static_cast<int>(threadIdx.x) % 32, quads = p.words / 4;
  const int row = static_cast<int>((blockIdx.x * kThreads + threadIdx.x) / 32);
  if (row >= rows) return;
  const auto* bits = reinterpret_cast<const uint4*>(p.bits + std::int64_t{row} * p.words);
  int count = 0;
#pragma unroll 4
  for (int i = lane; i < quads; i += 32) {
    const uint4 words = bits[i];
    count += __popc(words.x) + __popc(words.y) + __popc(words.z) + __popc(words.w);
  }
  count = __reduce_add_sync(0xffffffffu, count);
  if (lane == 0) p.counts[row] = count;
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

/// Adds up of_row(i) over the rows of a table; window[] gets the sums in front of the rows from
/// `from` on, one for each warp. Returns the sum over all.
template <class OfRow>
__device__ int sums_in_front(int table, int from, int* sums, int* window, OfRow of_row) {
  const int each = (table + kScanThreads - 1) / kScanThreads;
  const int first = min(static_cast<int>(threadIdx.x) * each, table),
            last = min(first + each, table);
  int mine = 0;
  for (int i = first; i < last; ++i) mine += of_row(i);
  const BlockSum sum = sum_of_block(mine, sums);
  int running = sum.before;
  for (int i = first; i < last; ++i) {
    if (i >= from && i < from + kScanWarps) window[i - from] = running;
    running += of_row(i);
  }
  __syncthreads();
  return sum.all;
}

/// How many entries stand in front of each word of a row of bits; a warp's work.
__device__ void count_words(const ListParams& p, std::int64_t row, int entries) {
  const int lane = static_cast<int>(threadIdx.x) % 32, quads = p.words / 4;
  const auto* bits = reinterpret_cast<const uint4*>(p.bits + row * p.words);
  auto* before = reinterpret_cast<int4*>(p.before + row * p.words);
  for (int i = lane; i - lane < quads; i += 32) {
    const uint4 words = i < quads ? bits[i] : make_uint4(0, 0, 0, 0);
    const int x = __popc(words.x), y = x + __popc(words.y), z = y + __popc(words.z);
    const int own = z + __popc(words.w);
    int scan = own;
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, scan, step);
      if (lane >= step) scan += other;
    }
    const int first = entries + scan - own;
    if (i < quads) before[i] = make_int4(first, first + x, first + y, first + z);
    entries += __shfl_sync(0xffffffffu, scan, 31);
  }
}

/// Where each list begins, and its runs: a warp per list. Each thread block adds up the counts of
/// all lists of the KV head once more, which takes less than to wait for another kernel.
__global__ void __launch_bounds__(kScanThreads)
    scan_lists_kernel(const __grid_constant__ ListParams p) {
  __shared__ int sums[kScanWarps], entries[kScanWarps], runs[kScanWarps];
  const ListedItems& items = p.items;
  const int table = items.table, parts = (table + kScanWarps - 1) / kScanWarps;
  const int kv_head = static_cast<int>(blockIdx.x) / parts;
  const int from = (static_cast<int>(blockIdx.x) - kv_head * parts) * kScanWarps;
  const int* counts = p.counts + std::int64_t{kv_head} * table;
  const auto runs_of = [&](int i) { return (counts[i] + p.run_queries - 1) / p.run_queries; };
  int* first_run = items.first_run + std::int64_t{kv_head} * (table + 1);
  sums_in_front(table, from, sums, entries, [&](int i) { return counts[i]; });
  const int all_runs = sums_in_front(table, from, sums, runs, runs_of);
  if (from == 0 && threadIdx.x == 0) first_run[table] = all_runs;

  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int block = from + warp;
  if (block >= table) return;
  count_words(p, std::int64_t{kv_head} * table + block, entries[warp]);
  if (lane == 0) first_run[block] = runs[warp];
  ListedRun* out = items.runs + kv_head * items.most_runs + runs[warp];
  for (int i = lane; i < runs_of(block); i += 32) {
    const int done = i * p.run_queries;
    out[i] = {block, entries[warp] + done, min(p.run_queries, counts[block] - done), 0};
  }
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
  const std::int64_t rows = std::int64_t{a.kv_heads} * p.items.table;
  const std::int64_t picks = std::int64_t{p.queries} * a.kv_heads * a.sel_count;
  const std::int64_t blocks = (picks + kThreads - 1) / kThreads;
  const std::int64_t parts = (p.items.table + kScanWarps - 1) / kScanWarps;
  NSA_CUDA(cudaMemsetAsync(p.bits, 0, static_cast<std::size_t>(rows * p.words) * 4, stream));
  launch(mark_picks_kernel, blocks, kThreads, 0, stream, p);
  launch(count_rows_kernel, (rows * 32 + kThreads - 1) / kThreads, kThreads, 0, stream, p,
         static_cast<int>(rows));
  launch(scan_lists_kernel, a.kv_heads * parts, kScanThreads, 0, stream, p);
  launch(write_entries_kernel, blocks, kThreads, 0, stream, p);
}

}  // namespace nsa::cuda
