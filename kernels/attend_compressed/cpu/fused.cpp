// One product q k_cmp^T and one softmax serve both stages: p_cmp of a tile of queries selects their
// blocks, and is multiplied with v_cmp.
#include "attend_compressed/cpu/fused.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "cpu/accumulator.hpp"
#include "cpu/compute.hpp"
#include "score/cpu/select_tile.hpp"

namespace nsa::attend_compressed {
namespace {

using score::CompressedRows;
using score::Tile;
using score::TileScratch;
using score::TileSizes;

/// Keys of a product: few enough that their V stays in a cache while the rows of a tile pass by.
constexpr std::int64_t kPanelKeys = 128;

/// Columns of a row of V, in whole vectors.
std::int64_t value_columns(const Problem& p) { return cpu::pad_up(p.head_dim_v); }

/// V in the type that is computed in, rows of value_columns: borrowed where it is that already.
template <class T>
CompressedRows<T> load_values(const LaunchArgs& args, const TensorView& v) {
  const std::int64_t heads = v.shape[1], columns = value_columns(args.problem);
  constexpr Dtype kDtype = std::is_same_v<T, double> ? Dtype::fp64 : Dtype::fp32;
  if (v.dtype == kDtype && v.shape[2] == columns) {
    return {v.as<const T>(), v.stride[0], v.stride[1]};
  }
  T* copy = args.workspace.take<T>(v.shape[0] * heads * columns).data();
  parallel_for(0, v.shape[0] * heads, 64, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      T* row = copy + i * columns;
      load_row(v, v.at(i / heads, i % heads), v.shape[2], row);
      std::fill(row + v.shape[2], row + columns, T{0});
    }
  });
  return {copy, heads * columns, columns};
}

/// Scratch of one thread beside that of the selection.
template <class T>
struct Outputs {
  T* o;                   // [tile rows, value_columns]
  cpu::RowSums<T>* sums;  // [tile rows]
};

template <class T>
struct Launch {
  const LaunchArgs& args;
  CompressedScoreTensors tensors;
  TileSizes sizes;
  std::int64_t heads, columns;
  CompressedRows<T> keys, values;

  void one_tile(const Tile& tile, const TileScratch<T>& scratch, const Outputs<T>& out) const;
  void attend(const Tile& tile, const T* p_cmp, T* o) const;
  void store(const Tile& tile, const Outputs<T>& out) const;
};

/// o of a tile is p_cmp times V. Keys that the first query sees, all see; later ones are added for
/// the queries that see them. So no V meets the weight 0 of a key that is not seen: a NaN would
/// come through.
template <class T>
void Launch<T>::attend(const Tile& tile, const T* p_cmp, T* o) const {
  const auto seen_by = [&](std::int64_t query) {
    return num_compressed(tile.first_position() + query + 1, args.problem.geometry);
  };
  const auto add_keys = [&](std::int64_t query, std::int64_t queries, std::int64_t first,
                            std::int64_t end) {
    cpu::tile_gemm({.rows = queries * heads, .cols = columns, .depth = end - first},
                   {p_cmp + query * heads * sizes.columns + first, sizes.columns},
                   {values.of(tile, first), values.row_stride},
                   {o + query * heads * columns, columns}, cpu::Store::add);
  };
  std::fill_n(o, tile.count * heads * columns, T{0});
  const std::int64_t common = seen_by(0);
  for (std::int64_t first = 0; first < common; first += kPanelKeys) {
    add_keys(0, tile.count, first, std::min(common, first + kPanelKeys));
  }
  for (std::int64_t i = 0, end = 0; i < tile.count; i = end) {
    while (end < tile.count && seen_by(end) == seen_by(i)) ++end;
    if (seen_by(i) > common) add_keys(i, end - i, common, seen_by(i));
  }
}

template <class T>
void Launch<T>::store(const Tile& tile, const Outputs<T>& out) const {
  const TensorView& o = tensors.o;
  const TensorView& lse = tensors.lse;
  for (std::int64_t r = 0; r < tile.count * heads; ++r) {
    const std::int64_t token = tile.sequence->q_begin + tile.first + r / heads;
    const std::int64_t head = tile.group * heads + r % heads;
    store_row(o, o.at(token, head), args.problem.head_dim_v, out.o + r * columns);
    if (lse) lse.as<float>()[lse.at(token, head)] = cpu::lse_of(out.sums[r]);
  }
}

template <class T>
void Launch<T>::one_tile(const Tile& tile, const TileScratch<T>& scratch,
                         const Outputs<T>& out) const {
  constexpr cpu::RowSums<T> kEmpty{-std::numeric_limits<T>::infinity(), T{0}};
  std::fill_n(out.sums, tile.count * heads, kEmpty);
  const auto to_p_cmp = [&](std::int64_t r, T* row, std::int64_t visible) {
    out.sums[r] = score::probabilities(row, visible);
  };
  score::select_tile<score::MakeRows::all>(args, tensors.score(), keys, tile, sizes, scratch,
                                           to_p_cmp);
  attend(tile, scratch.p_cmp, out.o);
  store(tile, out);
}

template <class T>
void run(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const CompressedScoreTensors tensors = CompressedScoreTensors::of(args);
  const Launch<T> launch{args,
                         tensors,
                         TileSizes(args.problem),
                         args.problem.heads_per_group(),
                         value_columns(args.problem),
                         score::load_keys<T>(tensors.kv.k, args.workspace),
                         load_values<T>(args, tensors.kv.v)};
  const TileSizes& sizes = launch.sizes;
  const std::int64_t threads = parallel_threads(), rows = threads * sizes.rows;
  T* numbers = args.workspace.take<T>(threads * sizes.numbers()).data();
  auto* ids = args.workspace.take<std::int32_t>(threads * sizes.integers()).data();
  T* o = args.workspace.take<T>(rows * launch.columns).data();
  auto* sums = args.workspace.take<cpu::RowSums<T>>(rows).data();
  score::for_tiles(args, [&](const Tile& tile) {
    const std::int64_t thread = parallel_thread_index(), row = thread * sizes.rows;
    launch.one_tile(tile,
                    {sizes, numbers + thread * sizes.numbers(), ids + thread * sizes.integers()},
                    {o + row * launch.columns, sums + row});
  });
}

}  // namespace

void cpu_fused(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype, [&](auto zero) { run<decltype(zero)>(args); });
}

std::int64_t cpu_fused_workspace(const Problem& p) {
  const TileSizes sizes(p);
  const std::int64_t columns = value_columns(p);
  const std::int64_t of_a_thread = sizes.numbers() + sizes.rows * (columns + 2);
  return accumulator_bytes(p) *
             (score::compressed_numbers(p, p.head_dim_k) + score::compressed_numbers(p, columns) +
              of_a_thread * parallel_threads()) +
         4 * sizes.integers() * parallel_threads() + 4096;
}

}  // namespace nsa::attend_compressed
