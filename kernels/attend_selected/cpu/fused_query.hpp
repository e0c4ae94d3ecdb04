// The walk of a tile of queries over the blocks that they selected, index by group, no copies.
#pragma once

#include <algorithm>
#include <vector>

#include "attend_selected/cpu/spans.hpp"
#include "cpu/panels.hpp"
#include "cpu/rows.hpp"
#include "operands/attend.hpp"

namespace nsa::cpu {

/// A block that a query of the tile selected; `slot` is its place among the query's blocks.
struct TileEntry {
  std::int64_t block, token, slot;
};

/// Memory of one tile per thread. Rows are tokens x heads of a group.
template <class T>
struct QueryTile {
  std::span<T> q, scores, out;
  std::span<const T*> left;  // [rows] operands of one product
  std::span<T*> right;       // [rows] its results
  std::span<RowSums<T>> sums;
  std::span<TileEntry> entries;
  std::span<std::int64_t> blocks, used;  // [sel_count] of one query, [tokens] blocks of each
  std::int64_t tokens = 0, rows = 0, slots = 0, ld_scores = 0, dim_k = 0, out_cols = 0;

  template <class Taker>
  static QueryTile layout(Taker& taker, const Problem& p, std::int64_t tokens,
                          const PanelShape& shape) {
    QueryTile m;
    m.tokens = tokens;
    m.rows = tokens * p.heads_per_group();
    m.slots = std::min(p.geometry.sel_count, num_blocks(p.max_kv_len(), p.geometry));
    m.ld_scores = m.slots * shape.width() + kPad;  // not a power of two: rows share no cache sets
    m.dim_k = shape.dim_k, m.out_cols = shape.out_cols();
    const std::int64_t threads = parallel_threads();
    m.q = taker.template take<T>(threads * m.rows * m.dim_k);
    m.scores = taker.template take<T>(threads * m.rows * m.ld_scores);
    m.out = taker.template take<T>(threads * m.rows * m.out_cols);
    m.left = taker.template take<const T*>(threads * m.rows);
    m.right = taker.template take<T*>(threads * m.rows);
    m.sums = taker.template take<RowSums<T>>(threads * m.rows);
    m.entries = taker.template take<TileEntry>(threads * tokens * m.slots);
    m.used = taker.template take<std::int64_t>(threads * tokens);
    m.blocks = taker.template take<std::int64_t>(threads * p.geometry.sel_count);
    return m;
  }
  /// The part of the calling thread.
  QueryTile mine(std::int64_t sel_count) const;
};

/// Tile of tokens [first, first + count) of a sequence.
struct QueryTask {
  const Sequence* sequence = nullptr;
  std::int64_t kv_head = 0, first_token = 0, tokens = 0;
};

/// Panels of the blocks: of all blocks of the head, or (`scratch_*` given) packed when a tile of
/// one query needs them: decoding reads n blocks, not the whole cache.
template <class T>
struct BlockPanels {
  const PackedHead<T>* packed = nullptr;
  T* k = nullptr;        // [slots, dim_k, width]
  T* v = nullptr;        // [slots, keys, out_cols]
  T* scratch = nullptr;  // [keys, dim_k]
};

template <class T>
void attend_query_tile(const LaunchArgs& args, const SelectedTensors& tensors,
                       const QueryTask& task, const BlockPanels<T>& panels, const PanelShape& shape,
                       const KvHead& source, const QueryTile<T>& memory);

/// Largest value of the coordinate bq.
inline constexpr std::int64_t kLargestQueryTile = 8;

/// The same launch on some of the rows of a batch.
void fused_query(const LaunchArgs& args, const SelectedTensors& tensors,
                 std::span<const Sequence> sequences);
/// Upper bound for any part of the batch's rows, packed either way.
std::int64_t fused_query_bytes_at_most(const Problem& problem);

}  // namespace nsa::cpu
