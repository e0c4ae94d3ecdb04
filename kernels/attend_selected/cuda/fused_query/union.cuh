// The union of the blocks of neighbouring queries.
#pragma once

#include "cuda/flash/attend_device.cuh"
#include "cuda/flash/band.cuh"

namespace nsa::cuda {

/// Blocks that are counted together; their sums have 1 KB of shared memory.
inline constexpr int kUnionChunk = 32;
inline constexpr int kMaxUnionBlocks = kUnionChunk * 250, kMaxUnion = 4096;

/// Marks in table[block] which queries of the tile chose it. Ids that are negative or of blocks
/// after the query are skipped, repeated ones count once. All threads call it.
__device__ inline void mark_blocks(const AttendParams& p, const RowTile& at, int queries,
                                   unsigned* table) {
  const int threads = static_cast<int>(blockDim.x);
  for (int i = static_cast<int>(threadIdx.x); i < queries * p.sel_count; i += threads) {
    const int query = i / p.sel_count;
    if (!at.holds(query)) break;
    const int id =
        p.blocks[at.token(query) * p.blocks_row_stride + at.kv_head * p.blocks_head_stride +
                 (i - query * p.sel_count) * p.blocks_id_stride];
    if (id >= 0 && id <= at.position(query) / p.sel_block) atomicOr(table + id, 1u << query);
  }
}

/// Lists the union in ascending order: (block, bits of the queries that chose it). `table` has a
/// word per block up to the tile's last query, `sums` a word per chunk of 32 blocks and two in
/// front. Returns the length. All threads call it.
__device__ inline int unite_blocks(const AttendParams& p, const RowTile& at, int queries,
                                   unsigned* table, uint2* list, int* sums) {
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int lane = thread % 32, warp = thread / 32, warps = threads / 32;
  const int blocks = at.position(queries - 1) / p.sel_block + 1;
  const int chunks = (blocks + kUnionChunk - 1) / kUnionChunk;
  for (int i = thread; i < chunks * kUnionChunk; i += threads) table[i] = 0;
  __syncthreads();
  mark_blocks(p, at, queries, table);
  __syncthreads();
  int* counts = sums + 2;
  for (int chunk = warp; chunk < chunks; chunk += warps) {
    const unsigned chosen = __ballot_sync(0xffffffffu, table[chunk * kUnionChunk + lane] != 0);
    if (lane == 0) counts[chunk] = __popc(chosen);
  }
  __syncthreads();
  for (int chunk = warp; chunk < chunks; chunk += warps) {
    int before = 0;
    for (int i = lane; i < chunk; i += 32) before += counts[i];
    before = __reduce_add_sync(0xffffffffu, before);
    const unsigned bits = table[chunk * kUnionChunk + lane];
    const unsigned chosen = __ballot_sync(0xffffffffu, bits != 0);
    if (bits != 0)
      list[before + __popc(chosen & ((1u << lane) - 1))] = {
          static_cast<unsigned>(chunk * kUnionChunk + lane), bits};
    if (chunk == chunks - 1 && lane == 0) sums[0] = before + __popc(chosen);
  }
  __syncthreads();
  return sums[0];
}

}  // namespace nsa::cuda
