// Product, softmax, product: what a framework does without a fused kernel. One KV head and one tile
// of queries at a time, the heads of a group as a batch.
#include <algorithm>
#include <cmath>

#include "cuda/gemm/gemm.hpp"
#include "nsa/schemas/error.hpp"
#include "operands/attend.hpp"
#include "vendor/math/shape.hpp"
#include "vendor/math/softmax.hpp"

namespace nsa::vendor {
namespace {

/// Rows [first, first + rows) of heads [head, head + heads) of a tensor [rows, heads, dim] as a
/// batch [heads, rows, dim]; a stride of 0 repeats one head.
TensorView head_batch(const TensorView& tensor, std::int64_t first, std::int64_t rows,
                      std::int64_t head, std::int64_t heads, bool repeat) {
  TensorView view = tensor;
  view.data =
      tensor.as<char>() + tensor.at(first, head) * static_cast<std::int64_t>(size_of(tensor.dtype));
  view.shape = {heads, rows, tensor.shape[2], 0};
  view.stride = {repeat ? 0 : tensor.stride[1], tensor.stride[0], 1, 0};
  return view;
}

/// Queries [first, first + count) of a sequence and the keys that any of them sees.
struct Tile {
  std::int64_t first, count, first_key, keys;
};

Tile tile_of(const Problem& p, const Sequence& s, Band band, std::int64_t first) {
  Tile tile{first, std::min(kMathQueries, s.q_len - first), 0, 0};
  const std::int64_t t = s.first_position() + first, last = t + tile.count - 1;
  if (band == Band::compressed) {
    tile.keys = std::min(num_compressed(last + 1, p.geometry), s.cmp_len);
  } else {
    tile.first_key = std::max<std::int64_t>(t - p.geometry.window + 1, 0);
    tile.keys = last + 1 - tile.first_key;
  }
  return tile;
}

LogitTile logits_of(const LaunchArgs& args, const Sequence& s, Band band, const Tile& tile,
                    float* room) {
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

void set_lse(LogitTile& logits, const TensorView& lse, std::int64_t row, std::int64_t head) {
  if (!lse) return;
  logits.lse = lse.as<float>() + lse.at(row, head);
  logits.lse_row_stride = lse.stride[0];
  logits.lse_head_stride = lse.stride[1];
}

TensorView matrices(void* data, Dtype dtype, const LogitTile& logits) {
  TensorView view = make_view(data, dtype, {logits.heads, logits.rows, logits.keys});
  const auto narrower = static_cast<std::int64_t>(sizeof(float) / size_of(dtype));
  view.stride = {logits.head_stride * narrower, logits.row_stride * narrower, 1, 0};
  return view;
}

/// One tile: all KV heads, one after the other in the same room.
void run_tile(const LaunchArgs& args, const Sequence& s, Band band, const Tile& tile, float* room) {
  const Problem& p = args.problem;
  const std::int64_t group = p.heads_per_group(), row = s.q_begin + tile.first;
  const std::int64_t key = (band == Band::window ? s.kv_begin : s.cmp_begin) + tile.first_key;
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(p.head_dim_k)));
  const BandTensors tensors = BandTensors::of(args, branch_of(band));
  LogitTile logits = logits_of(args, s, band, tile, room);
  const TensorView raw = matrices(room, Dtype::fp32, logits);
  const TensorView weights = matrices(room, p.dtype, logits);
  for (std::int64_t head = 0; head < p.kv_heads; ++head) {
    const TensorView q = head_batch(tensors.q, row, tile.count, head * group, group, false);
    const TensorView k = head_batch(tensors.kv.k, key, tile.keys, head, group, true);
    const TensorView v = head_batch(tensors.kv.v, key, tile.keys, head, group, true);
    const TensorView o = head_batch(tensors.o, row, tile.count, head * group, group, false);
    cuda::gemm_batched(q, k, raw, scale, args.workspace, args.stream);
    set_lse(logits, tensors.lse, row, head * group);
    softmax_in_place(logits, p.dtype, args.stream);
    cuda::gemm_batched(weights, v, o, 1, args.workspace, args.stream, {.w = cuda::WLayout::in_out});
  }
}

/// Queries that see no key: zeros, which one key of weight 0 gives as well; there is none to take,
/// so the rows are filled.
void fill_empty(const LaunchArgs& args, const Sequence& s, Band band, const Tile& tile) {
  const Problem& p = args.problem;
  const std::int64_t row = s.q_begin + tile.first;
  const BandTensors tensors = BandTensors::of(args, branch_of(band));
  zero_rows(head_batch(tensors.o, row, tile.count, 0, p.q_heads, false), args.stream);
  LogitTile none = logits_of(args, s, band, tile, nullptr);
  none.heads = static_cast<int>(p.q_heads);
  set_lse(none, tensors.lse, row, 0);
  if (none.lse) softmax_in_place(none, p.dtype, args.stream);
}

template <Band kBand>
void launch_math(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  auto* room = static_cast<float*>(
      args.workspace.take(static_cast<std::size_t>(logits_bytes(args.problem, kBand))));
  for (const Sequence& sequence : args.sequences) {
    for (std::int64_t first = 0; first < sequence.q_len; first += kMathQueries) {
      const Tile tile = tile_of(args.problem, sequence, kBand, first);
      if (tile.keys > 0) {
        run_tile(args, sequence, kBand, tile, room);
      } else {
        fill_empty(args, sequence, kBand, tile);
      }
    }
  }
}

}  // namespace

extern constinit const LaunchFunction kMathWindow = launch_math<Band::window>;
extern constinit const LaunchFunction kMathCompressed = launch_math<Band::compressed>;

}  // namespace nsa::vendor
