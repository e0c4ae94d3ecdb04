// Product, softmax, product: what a framework does without a fused kernel. One KV head and one tile
// of queries at a time, the heads of a group as a batch.
#include <cmath>

#include "cuda/gemm/gemm.hpp"
#include "operands/attend.hpp"
#include "vendor/math/tile.hpp"

namespace nsa::vendor {
namespace {

/// One tile: all KV heads, one after the other in the same room.
void run_tile(const LaunchArgs& args, const Sequence& s, Band band, const MathTile& tile,
              float* room) {
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
void fill_empty(const LaunchArgs& args, const Sequence& s, Band band, const MathTile& tile) {
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
      const MathTile tile = tile_of(args.problem, sequence, kBand, first);
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
