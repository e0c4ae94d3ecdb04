// How `fused_block` cuts its work and lays out its workspace: plain C++, so that a build without
// CUDA knows it too.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa::cuda {

/// Values of the coordinate `c`, the neighbouring queries whose lists of blocks are turned around
/// together. Few queries share no block that is read, many have partial results that leave the L2.
inline constexpr std::array<std::int64_t, 2> kQueryChunks{1024, 2048};
/// Tiles of 64 rows that one item of work covers at most.
inline constexpr int kItemTiles = 8;
inline constexpr int kBlockRows = 64;  // of a tile: (query, head of the group)
/// How many stages behind its items the tiles of a stage are joined, and stages whose partial
/// results are in memory at a time. On an H200 a stage of 2048 queries is less work than its blocks
/// of threads have in hand, so with 1 and 3 they wait for one another: 2.06 ms at 65,536 tokens of
/// the seeds' heads, 1.79 with 2 and 5, 1.78 with 4 and 8, 1.77 with 8 and 12.
inline constexpr int kJoinLag = 4, kPartialRing = 8;
inline constexpr std::int64_t kMaxBlockTable = 16384;  // counters in shared memory
inline constexpr std::int64_t kMaxBlockPicks = 32;     // lanes of a warp

/// The chunk of a launch whose point does not name one: partial results of more queries are more
/// than an L2 holds, and short sequences are to fill the device.
inline std::int64_t default_chunk(const Problem& p) {
  const bool wide = p.heads_per_group() * p.head_dim_v > 512;
  return wide || p.total_tokens() <= 8192 ? 1024 : 2048;
}

/// A stage is a chunk of queries and a KV head. Sizes are counts of elements.
struct BlockPlan {
  std::int64_t chunk, chunks, stages, ring;
  std::int64_t blocks_of_sequence, table;  // table: (sequence, block) of the whole batch
  std::int64_t tile_queries, item_queries, item_cap;

  BlockPlan(const Problem& p, std::int64_t queries)
      : chunk(queries),
        chunks((p.total_tokens() + queries - 1) / queries),
        stages(chunks * p.kv_heads),
        ring(std::min<std::int64_t>(stages, kPartialRing)),
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
