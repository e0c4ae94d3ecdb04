// p_cmp in memory for a tile of queries, then p_slc, the sum over the group, and the best blocks.
#include <limits>

#include "catalog/rows.hpp"
#include "cpu/blas.hpp"
#include "cpu/half.hpp"
#include "cpu/tile_gemm.hpp"
#include "score/block_map.hpp"
#include "score/query_tiles.hpp"
#include "score/top_blocks.hpp"
#include "score/variants.hpp"

namespace nsa::score {
namespace {

enum class Precision { full, bf16 };

/// Scratch of one thread.
template <class T>
struct Scratch {
  T* q;       // [tile rows, head_dim_k]
  T* p_cmp;   // [tile rows, columns]
  T* scores;  // [blocks]
  std::int32_t *order, *row;
};

struct Sizes {
  std::int64_t rows, columns, blocks, dim;
  explicit Sizes(const Problem& p)
      : rows(tile_queries(p) * p.heads_per_group()),
        columns(cpu::pad_up(std::max<std::int64_t>(1, p.max_compressed()))),
        blocks(num_blocks(p.max_kv_len(), p.geometry) + 1),
        dim(p.head_dim_k) {}
  std::int64_t numbers() const { return rows * (dim + columns) + blocks; }
  std::int64_t integers(const Geometry& g) const { return blocks + g.sel_count; }
};

/// Softmax of a row of logits, in place; what lies behind `visible` is not seen.
template <Precision precision, class T>
void probabilities(T* row, std::int64_t visible) {
  const std::int64_t padded = cpu::pad_up(visible);
  std::fill(row + visible, row + padded, -std::numeric_limits<T>::infinity());
  const auto sums = cpu::softmax_row(row, padded);
  const T inverse = T{1} / sums.sum;
  for (std::int64_t i = 0; i < visible; ++i) {
    row[i] *= inverse;
    if constexpr (precision == Precision::bf16) {
      row[i] = static_cast<T>(bf16_to_float(float_to_bf16(static_cast<float>(row[i]))));
    }
  }
}

template <Precision precision, class T>
void select_tile(const LaunchArgs& args, const Keys<T>& keys, const Tile& tile, const Sizes& sizes,
                 const Scratch<T>& scratch) {
  const Problem& p = args.problem;
  const std::int64_t heads = p.heads_per_group();
  const std::int64_t seen = num_compressed(tile.last_position() + 1, p.geometry);
  if (seen > 0 && candidates(tile.last_position(), p.geometry) > 0) {
    load_queries(args, tile, scratch.q);
    gemm(false, true, tile.count * heads, seen, sizes.dim, T{1}, scratch.q, sizes.dim,
         keys.of(tile, 0), keys.row_stride, T{0}, scratch.p_cmp, sizes.columns);
  }
  for (std::int64_t i = 0; i < tile.count; ++i) {
    const std::int64_t position = tile.sequence->first_position() + tile.first + i;
    const std::int64_t visible = num_compressed(position + 1, p.geometry);
    std::fill_n(scratch.scores, position / p.geometry.sel_block + 1, T{0});
    for (std::int64_t h = 0; h < heads && visible > 0; ++h) {
      if (candidates(position, p.geometry) == 0) break;  // all blocks are forced
      T* row = scratch.p_cmp + (i * heads + h) * sizes.columns;
      probabilities<precision>(row, visible);
      add_block_scores(row, 0, visible, p.geometry, scratch.scores);
    }
    top_blocks(scratch.scores, position, p.geometry, scratch.order, scratch.row);
    write_blocks(args, tile, i, {scratch.row, static_cast<std::size_t>(p.geometry.sel_count)});
  }
}

template <Precision precision, class T>
void select(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const Sizes sizes(args.problem);
  const std::int64_t integers = sizes.integers(args.problem.geometry);
  const Keys<T> keys = load_keys<T>(args);
  T* numbers = args.workspace.take<T>(sizes.numbers() * parallel_threads()).data();
  auto* ids = args.workspace.take<std::int32_t>(integers * parallel_threads()).data();
  for_tiles(args, [&](const Tile& tile) {
    T* q = numbers + sizes.numbers() * parallel_thread_index();
    T* p_cmp = q + sizes.rows * sizes.dim;
    std::int32_t* order = ids + integers * parallel_thread_index();
    select_tile<precision, T>(
        args, keys, tile, sizes,
        {q, p_cmp, p_cmp + sizes.rows * sizes.columns, order, order + sizes.blocks});
  });
}

}  // namespace

void materialised(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype,
                   [&](auto zero) { select<Precision::full, decltype(zero)>(args); });
}

void p_cmp_bf16(const LaunchArgs& args) { select<Precision::bf16, float>(args); }

std::int64_t materialised_workspace(const Problem& p) {
  const Sizes sizes(p);
  return accumulator_bytes(p) * (key_numbers(p) + sizes.numbers() * parallel_threads()) +
         4 * sizes.integers(p.geometry) * parallel_threads() + 4096;
}

}  // namespace nsa::score
