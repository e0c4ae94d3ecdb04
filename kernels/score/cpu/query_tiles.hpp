// How the stage is cut: tiles of neighbouring queries of one sequence and KV head, all heads of the
// group together, so that one matrix product serves all of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "cpu/convert.hpp"
#include "cpu/matrix.hpp"
#include "cpu/simd/softmax.hpp"
#include "nsa/kernels/launch.hpp"
#include "nsa/kernels/parallel.hpp"
#include "operands/select.hpp"

namespace nsa::score {

inline constexpr std::int64_t kTileRows = 96;  // queries x heads: enough for BLAS, small in cache

inline std::int64_t tile_queries(const Problem& p) {
  return std::max<std::int64_t>(1, kTileRows / p.heads_per_group());
}

struct Tile {
  const Sequence* sequence;
  std::int64_t group, first, count;  // queries [first, first + count)
  std::int64_t first_position() const { return sequence->first_position() + first; }
  std::int64_t last_position() const { return first_position() + count - 1; }
};

/// Calls body(tile) for every tile, by all threads, the last queries (the longest rows) first.
template <class Body>
void for_tiles(const LaunchArgs& args, const Body& body) {
  const std::int64_t step = tile_queries(args.problem), groups = args.problem.kv_heads;
  for (const Sequence& s : args.sequences) {
    const std::int64_t tiles = (s.q_len + step - 1) / step;
    parallel_for(0, tiles * groups, 1, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) {
        const std::int64_t first = (tiles - 1 - i / groups) * step;
        body(Tile{&s, i % groups, first, std::min(step, s.q_len - first)});
      }
    });
  }
}

/// q of a tile as rows (query, head) of the accumulator's type, scaled for a base-2 softmax.
template <class T>
void load_queries(const Problem& problem, const TensorView& q, const Tile& tile, T* out) {
  const std::int64_t heads = problem.heads_per_group(), dim = q.shape[2];
  const T scale = static_cast<T>(cpu::kLog2E / std::sqrt(static_cast<double>(dim)));
  for (std::int64_t i = 0; i < tile.count; ++i) {
    const std::int64_t token = tile.sequence->q_begin + tile.first + i;
    for (std::int64_t h = 0; h < heads; ++h, out += dim) {
      load_row(q, q.at(token, tile.group * heads + h), dim, out);
      for (std::int64_t c = 0; c < dim; ++c) out[c] *= scale;
    }
  }
}

/// Compressed keys or values as the accumulator's type; `head_stride` elements from one KV head to
/// the next.
template <class T>
struct CompressedRows {
  const T* data;
  std::int64_t row_stride, head_stride;
  const T* of(const Tile& tile, std::int64_t row) const {
    return data + (tile.sequence->cmp_begin + row) * row_stride + tile.group * head_stride;
  }
};

template <class T>
CompressedRows<T> load_keys(const TensorView& k, Workspace& workspace) {
  constexpr Dtype kDtype = std::is_same_v<T, double> ? Dtype::fp64 : Dtype::fp32;
  if (k.dtype == kDtype && k.stride[0] >= k.shape[2]) {
    return {k.as<const T>(), k.stride[0], k.stride[1]};
  }
  const Matrix<T> copy = matrix_rows<T>(k, 0, k.shape[0], workspace);
  return {copy.data, copy.row_stride, k.shape[2]};
}

/// Upper bound of the numbers in all compressed rows of that many columns.
inline std::int64_t compressed_numbers(const Problem& p, std::int64_t columns) {
  return (p.total_context() / p.geometry.cmp_stride + p.batch()) * p.kv_heads * columns;
}

/// Where the row of blocks of a query goes: the output, and what the caller wants saved.
inline void write_blocks(const LaunchArgs& args, const TensorView& out, const Tile& tile,
                         std::int64_t query, std::span<const std::int32_t> row) {
  const std::int64_t token = tile.sequence->q_begin + tile.first + query;
  const auto write = [&](const TensorView& blocks) {
    std::copy(row.begin(), row.end(), blocks.as<std::int32_t>() + blocks.at(token, tile.group));
  };
  write(out);
  if (args.saved && args.saved->blocks) write(args.saved->blocks);
}

}  // namespace nsa::score
