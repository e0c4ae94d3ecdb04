// The tiles that sdpa_math cuts a problem into, forward and backward.
#pragma once

#include <algorithm>

#include "nsa/kernels/launch.hpp"
#include "vendor/math/shape.hpp"
#include "vendor/math/softmax.hpp"

namespace nsa::vendor {

/// Rows [first, first + rows) of heads [head, head + heads) of a tensor [rows, heads, dim] as a
/// batch [heads, rows, dim]; a stride of 0 repeats one head.
inline TensorView head_batch(const TensorView& tensor, std::int64_t first, std::int64_t rows,
                             std::int64_t head, std::int64_t heads, bool repeat) {
  TensorView view = tensor;
  view.data =
      tensor.as<char>() + tensor.at(first, head) * static_cast<std::int64_t>(size_of(tensor.dtype));
  view.shape = {heads, rows, tensor.shape[2], 0};
  view.stride = {repeat ? 0 : tensor.stride[1], tensor.stride[0], 1, 0};
  return view;
}

/// Queries [first, first + count) of a sequence and the keys that any of them sees.
struct MathTile {
  std::int64_t first, count, first_key, keys;
};

inline MathTile tile_of(const Problem& p, const Sequence& s, Band band, std::int64_t first) {
  MathTile tile{first, std::min(kMathQueries, s.q_len - first), 0, 0};
  const std::int64_t t = s.first_position() + first, last = t + tile.count - 1;
  if (band == Band::compressed) {
    tile.keys = std::min(num_compressed(last + 1, p.geometry), s.cmp_len);
  } else {
    tile.first_key = std::max<std::int64_t>(t - p.geometry.window + 1, 0);
    tile.keys = last + 1 - tile.first_key;
  }
  return tile;
}

inline LogitTile logits_of(const LaunchArgs& args, const Sequence& s, Band band,
                           const MathTile& tile, float* room) {
  const Problem& p = args.problem;
  LogitTile logits;
  logits.data = room;
  logits.row_stride = logits_stride(tile.keys);
  logits.head_stride = logits.row_stride * tile.count;
  logits.heads = static_cast<int>(p.heads_per_group());
  logits.rows = static_cast<int>(tile.count);
  logits.keys = static_cast<int>(tile.keys);
  logits.first_position = s.first_position() + tile.first;
  logits.first_key = tile.first_key;
  logits.band = band;
  logits.window = static_cast<int>(p.geometry.window);
  logits.cmp_block = static_cast<int>(p.geometry.cmp_block);
  logits.cmp_stride = static_cast<int>(p.geometry.cmp_stride);
  return logits;
}

inline void set_lse(LogitTile& logits, const TensorView& lse, std::int64_t row, std::int64_t head) {
  if (!lse) return;
  logits.lse = lse.as<float>() + lse.at(row, head);
  logits.lse_row_stride = lse.stride[0];
  logits.lse_head_stride = lse.stride[1];
}

inline TensorView matrices(void* data, Dtype dtype, const LogitTile& logits) {
  TensorView view = make_view(data, dtype, {logits.heads, logits.rows, logits.keys});
  const auto narrower = static_cast<std::int64_t>(sizeof(float) / size_of(dtype));
  view.stride = {logits.head_stride * narrower, logits.row_stride * narrower, 1, 0};
  return view;
}

}  // namespace nsa::vendor
