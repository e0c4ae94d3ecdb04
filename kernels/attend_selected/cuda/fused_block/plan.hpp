// How `fused_block` cuts its work and lays out its workspace: plain C++, so that a build without
// CUDA knows it too.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa::cuda {

/// Values of the coordinate `chunk`, the neighbouring queries whose lists of blocks are turned
/// around together. Of few queries not many share a block; many make few stages, which wait for one
/// another.
inline constexpr std::array<std::int64_t, 3> kQueryChunks{512, 1024, 2048};
/// Tiles of 64 rows that one work item covers at most.
inline constexpr int kItemTiles = 8;
inline constexpr int kBlockRows = 64;                  // of a tile: (query, head of the group)
inline constexpr std::int64_t kMaxBlockTable = 16384;  // counters in shared memory
inline constexpr std::int64_t kMaxBlockPicks = 32;     // lanes of a warp

/// Whether the partial results of a query are many bytes.
inline bool has_wide_rows(const Problem& p) { return p.heads_per_group() * p.head_dim_v > 512; }

/// The chunk of a launch whose point does not name one: the fastest on an H200.
inline std::int64_t default_query_chunk(const Problem& p) {
  return has_wide_rows(p) ? 1024 : p.total_tokens() <= 8192 ? 512 : 2048;
}

/// How many queries after its items the tiles of a stage are merged, and of how many queries the
/// partial results are in memory at a time. A query of a KV head counts as one. Thread blocks
/// have the items of some 4,000 queries in hand, so with less they wait for one another. On an
/// H200, 12 query and 2 KV heads of 64, chunks of 1024 and 8192 tokens: .232 ms with 2048 and 8192,
/// .193 with 4096 and 8192, .183 with 6144 and 16,384; chunks of 2048 and 65,536 tokens: 1.48 with
/// 2048 and 8192, 1.35 with 4096 and 12,288, 1.34 with 6144 and 16,384. Wide rows are as fast with
/// the smaller numbers, which are less memory.
inline std::int64_t queries_of_lag(const Problem& p) { return has_wide_rows(p) ? 4096 : 6144; }
inline std::int64_t queries_of_ring(const Problem& p) { return has_wide_rows(p) ? 8192 : 16384; }

/// A stage is a chunk of queries and a KV head. Sizes are counts of elements.
struct BlockPlan {
  std::int64_t chunk, chunks, stages, lag, ring;  // lag and ring count stages
  std::int64_t blocks_of_sequence, table;         // table: (sequence, block) of the whole batch
  std::int64_t tile_queries, item_queries, item_cap;

  BlockPlan(const Problem& p, std::int64_t queries)
      : chunk(queries),
        chunks((p.total_tokens() + queries - 1) / queries),
        stages(chunks * p.kv_heads),
        lag(queries_of_lag(p) / chunk),
        ring(std::min(stages, queries_of_ring(p) / chunk)),
        blocks_of_sequence(num_blocks(p.max_kv_len(), p.geometry)),
        table(p.batch() * blocks_of_sequence),
        tile_queries(kBlockRows / p.heads_per_group()),
        item_queries(kItemTiles * tile_queries),
        item_cap(std::min(table, queries * p.geometry.sel_count) +
                 queries * p.geometry.sel_count / item_queries + 1),
        picks_(queries * p.geometry.sel_count),
        row_bytes_(p.heads_per_group() *
                   (p.head_dim_v * static_cast<std::int64_t>(size_of(p.dtype)) + 4)) {}

  std::int64_t near_count() const { return stages * chunk; }
  std::int64_t entry_count() const { return stages * picks_; }
  std::int64_t item_count() const { return stages * item_cap; }
  std::int64_t counter_count() const { return 3 * stages + 1; }
  std::int64_t partial_rows() const { return ring * picks_; }  // of all heads of the group
  /// Upper bound, alignment included.
  std::int64_t bytes() const {
    constexpr std::int64_t kAlignment = 256, kTensors = 6;
    return 4 * (near_count() + entry_count() + 4 * item_count() + counter_count()) +
           partial_rows() * row_bytes_ + kTensors * kAlignment;
  }

 private:
  std::int64_t picks_, row_bytes_;
};

}  // namespace nsa::cuda
