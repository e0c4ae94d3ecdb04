// p_cmp of a tile of queries in memory, and the blocks that it selects. A row that needs p_cmp for
// something else too takes it on the way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/blas.hpp"
#include "cpu/simd/softmax.hpp"
#include "cpu/simd/tile_gemm.hpp"
#include "score/cpu/block_map.hpp"
#include "score/cpu/query_tiles.hpp"
#include "score/cpu/top_blocks.hpp"

namespace nsa::score {

/// Numbers and integers that one thread needs.
struct TileSizes {
  std::int64_t rows, columns, blocks, dim, picks;
  explicit TileSizes(const Problem& p)
      : rows(tile_queries(p) * p.heads_per_group()),
        columns(cpu::pad_up(std::max<std::int64_t>(1, p.max_compressed()))),
        blocks(num_blocks(p.max_kv_len(), p.geometry) + 1),
        dim(p.head_dim_k),
        picks(p.geometry.sel_count) {}
  std::int64_t numbers() const { return rows * (dim + columns) + blocks; }
  std::int64_t integers() const { return blocks + picks; }
};

/// Scratch of one thread.
template <class T>
struct TileScratch {
  T* q;       // [tile rows, head_dim_k]
  T* p_cmp;   // [tile rows, columns]
  T* scores;  // [blocks]
  std::int32_t *order, *row;
  TileScratch(const TileSizes& sizes, T* numbers, std::int32_t* integers)
      : q(numbers),
        p_cmp(q + sizes.rows * sizes.dim),
        scores(p_cmp + sizes.rows * sizes.columns),
        order(integers),
        row(order + sizes.blocks) {}
};

/// Softmax of a row of logits, in place; what lies past `visible` is not seen.
template <class T>
cpu::RowSums<T> probabilities(T* row, std::int64_t visible) {
  const std::int64_t padded = cpu::pad_up(visible);
  std::fill(row + visible, row + padded, -std::numeric_limits<T>::infinity());
  const cpu::RowSums<T> sums = cpu::softmax_row(row, padded);
  cpu::scale_row(row, padded, T{1} / sums.sum);
  return sums;
}

/// Which rows of p_cmp are made: all, or those of queries where some block is not forced.
enum class MakeRows : bool { all, that_choose };

/// Writes the blocks of the tile's queries to `blocks`. to_p_cmp(row of the tile, logits, visible)
/// turns logits into p_cmp, in place; rows that see no compressed token are left out.
template <MakeRows kRows, class T, class ToPCmp>
void select_tile(const LaunchArgs& args, const ScoreTensors& tensors, const CompressedRows<T>& keys,
                 const Tile& tile, const TileSizes& sizes, const TileScratch<T>& scratch,
                 const ToPCmp& to_p_cmp) {
  const Geometry& g = args.problem.geometry;
  const std::int64_t heads = args.problem.heads_per_group(), last = tile.last_position();
  const std::int64_t seen = num_compressed(last + 1, g);
  if (seen > 0 && (kRows == MakeRows::all || candidates(last, g) > 0)) {
    load_queries(args.problem, tensors.q, tile, scratch.q);
    const std::int64_t rows = tile.count * heads;
    const MatrixView<const T> seen_keys{keys.of(tile, 0), seen, sizes.dim, keys.row_stride};
    gemm({scratch.q, rows, sizes.dim, sizes.dim}, seen_keys.transpose(),
         MatrixView<T>{scratch.p_cmp, rows, seen, sizes.columns});
  }
  for (std::int64_t i = 0; i < tile.count; ++i) {
    const std::int64_t position = tile.first_position() + i;
    const std::int64_t visible = num_compressed(position + 1, g);
    const bool chooses = candidates(position, g) > 0;  // else all blocks are forced
    std::fill_n(scratch.scores, position / g.sel_block + 1, T{0});
    for (std::int64_t r = i * heads; r < (i + 1) * heads && visible > 0; ++r) {
      if (kRows == MakeRows::that_choose && !chooses) break;
      T* row = scratch.p_cmp + r * sizes.columns;
      to_p_cmp(r, row, visible);
      if (chooses) add_block_scores(row, 0, visible, g, scratch.scores);
    }
    top_blocks(scratch.scores, position, g, scratch.order, scratch.row);
    write_blocks(args, tensors.blocks, tile, i,
                 {scratch.row, static_cast<std::size_t>(sizes.picks)});
  }
}

}  // namespace nsa::score
