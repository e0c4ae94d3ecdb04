// One pass over panels of compressed keys: no row of p_cmp is ever in memory. Block scores are kept
// against a running maximum and rescaled when it rises, as the accumulators of an online softmax.
#include <limits>

#include "cpu/accumulator.hpp"
#include "cpu/blas.hpp"
#include "cpu/simd/tile_gemm.hpp"
#include "nsa/kernels/launch.hpp"
#include "score/cpu/block_map.hpp"
#include "score/cpu/query_tiles.hpp"
#include "score/cpu/top_blocks.hpp"

namespace nsa::score {
namespace {

constexpr std::int64_t kPanel = 256;  // compressed keys: 96 rows of logits stay in the second cache

template <class T>
struct Scratch {
  T* q;          // [tile rows, head_dim_k]
  T* logits;     // [tile rows, kPanel]
  T *max, *sum;  // [tile rows]
  T* scores;     // [tile rows, blocks], unnormalised
  T* group;      // [blocks]
  std::int32_t *order, *row;
};

struct Sizes {
  std::int64_t rows, blocks, dim;
  explicit Sizes(const Problem& p)
      : rows(tile_queries(p) * p.heads_per_group()),
        blocks(cpu::pad_up(num_blocks(p.max_kv_len(), p.geometry) + 1)),
        dim(p.head_dim_k) {}
  std::int64_t numbers() const { return rows * (dim + kPanel + 2 + blocks) + blocks; }
  std::int64_t integers(const Geometry& g) const { return blocks + g.sel_count; }
};

/// One row meets `visible` logits of a panel that begins at compressed key `first`.
template <class T>
void add_panel(T* logits, std::int64_t visible, std::int64_t first, const Geometry& g, T& max,
               T& sum, T* scores, std::int64_t blocks) {
  const std::int64_t padded = cpu::pad_up(visible);
  std::fill(logits + visible, logits + padded, -std::numeric_limits<T>::infinity());
  const auto panel = cpu::softmax_row(logits, padded);
  if (panel.max > max) {  // what was summed so far shrinks
    const T shrink = std::exp2(max - panel.max);
    if (shrink != T{1}) cpu::scale_row(scores, blocks, shrink);
    sum *= shrink;
    max = panel.max;
  } else if (panel.max < max) {
    const T shrink = std::exp2(panel.max - max);
    cpu::scale_row(logits, padded, shrink);
    sum += shrink * panel.sum;
    add_block_scores(logits, first, visible, g, scores);
    return;
  }
  sum += panel.sum;  // equal maxima, or NaN, which stays
  add_block_scores(logits, first, visible, g, scores);
}

template <class T>
void select_tile(const LaunchArgs& args, const ScoreTensors& tensors, const CompressedRows<T>& keys,
                 const Tile& tile, const Sizes& sizes, const Scratch<T>& s) {
  const Problem& p = args.problem;
  const std::int64_t heads = p.heads_per_group(), rows = tile.count * heads;
  const std::int64_t start = tile.first_position();
  const std::int64_t seen = candidates(tile.last_position(), p.geometry) == 0
                                ? 0
                                : num_compressed(tile.last_position() + 1, p.geometry);
  std::fill_n(s.max, rows, -std::numeric_limits<T>::infinity());
  std::fill_n(s.sum, rows, T{0});
  std::fill_n(s.scores, rows * sizes.blocks, T{0});
  if (seen > 0) load_queries(p, tensors.q, tile, s.q);
  for (std::int64_t first = 0; first < seen; first += kPanel) {
    const std::int64_t width = std::min(kPanel, seen - first);
    const MatrixView<const T> panel{keys.of(tile, first), width, sizes.dim, keys.row_stride};
    gemm({s.q, rows, sizes.dim, sizes.dim}, panel.transpose(),
         MatrixView<T>{s.logits, rows, width, kPanel});
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t all = num_compressed(start + r / heads + 1, p.geometry);
      const std::int64_t visible = std::min(width, all - first);
      if (visible <= 0) continue;
      add_panel(s.logits + r * kPanel, visible, first, p.geometry, s.max[r], s.sum[r],
                s.scores + r * sizes.blocks, sizes.blocks);
    }
  }
  for (std::int64_t i = 0; i < tile.count; ++i) {
    std::fill_n(s.group, sizes.blocks, T{0});
    for (std::int64_t r = i * heads; r < (i + 1) * heads && s.sum[r] != T{0}; ++r) {
      const T inverse = T{1} / s.sum[r];
      const T* scores = s.scores + r * sizes.blocks;
      for (std::int64_t j = 0; j < sizes.blocks; ++j) s.group[j] += inverse * scores[j];
    }
    top_blocks(s.group, start + i, p.geometry, s.order, s.row);
    write_blocks(args, tensors.blocks, tile, i,
                 {s.row, static_cast<std::size_t>(p.geometry.sel_count)});
  }
}

template <class T>
void select(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const Sizes sizes(args.problem);
  const std::int64_t integers = sizes.integers(args.problem.geometry), rows = sizes.rows;
  const ScoreTensors tensors = ScoreTensors::of(args);
  const CompressedRows<T> keys = load_keys<T>(tensors.k_cmp, args.workspace);
  T* numbers = args.workspace.take<T>(sizes.numbers() * parallel_threads()).data();
  auto* ids = args.workspace.take<std::int32_t>(integers * parallel_threads()).data();
  for_tiles(args, [&](const Tile& tile) {
    Scratch<T> s{};
    s.q = numbers + sizes.numbers() * parallel_thread_index();
    s.logits = s.q + rows * sizes.dim;
    s.max = s.logits + rows * kPanel;
    s.sum = s.max + rows;
    s.scores = s.sum + rows;
    s.group = s.scores + rows * sizes.blocks;
    s.order = ids + integers * parallel_thread_index();
    s.row = s.order + sizes.blocks;
    select_tile<T>(args, tensors, keys, tile, sizes, s);
  });
}

}  // namespace

void streamed(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype, [&](auto zero) { select<decltype(zero)>(args); });
}

std::int64_t streamed_workspace(const Problem& p) {
  const Sizes sizes(p);
  return accumulator_bytes(p) *
             (compressed_numbers(p, p.head_dim_k) + sizes.numbers() * parallel_threads()) +
         4 * sizes.integers(p.geometry) * parallel_threads() + 4096;
}

}  // namespace nsa::score
