// How the backward pass of attention to a band cuts its work: plain C++, so that a build without
// CUDA knows its workspace.
#pragma once

#include "cuda/backward/tile.hpp"
#include "nsa/kernels/tensors.hpp"

namespace nsa::cuda {

/// Tiles of `tile_keys` keys, and of how many queries an item has one pass by.
struct BandPlan {
  std::int64_t tile_keys, tiles, segment, segments;
  std::int64_t most = 1;  // queries that pass by a tile
  std::int64_t rows;      // of q that pass by all tiles

  BandPlan(const Problem& p, Branch branch, int keys_of_tile) : tile_keys(keys_of_tile) {
    const bool compressed = branch == Branch::cmp;
    std::int64_t keys = 0, passing = 0;  // passing: queries by tiles
    for (std::size_t b = 0; b < p.seq_lens.size(); ++b) {
      const std::int64_t length = p.seq_lens[b] + p.context_lens[b];
      const std::int64_t own = compressed ? num_compressed(length, p.geometry) : length;
      const std::int64_t own_tiles = own / tile_keys + 1;
      const std::int64_t widest =
          compressed ? p.seq_lens[b]
                     : std::min<std::int64_t>(p.seq_lens[b], tile_keys + p.geometry.window);
      keys += own;
      passing += own_tiles * (compressed ? (widest + 1) / 2 : widest);
      most = std::max(most, widest);
    }
    rows = passing * p.q_heads;
    tiles = keys / tile_keys + static_cast<std::int64_t>(p.seq_lens.size());
    segment = queries_of_item(passing * p.kv_heads, p.heads_per_group(), backward_tile(p));
    segments = (most + segment - 1) / segment;
  }
  /// Of the sums of all items.
  std::int64_t sum_numbers(const Problem& p) const {
    return p.kv_heads * tiles * segments * tile_keys * backward_tile(p).width();
  }
};

/// The plan of a launch; `hopper`: by the kernels for it. Wide tiles bring rows less often and have
/// larger sums: that pays where there is work for many. With 64 query and 4 KV heads of 128 columns
/// both passes of attention are 5 % faster at 65,536 tokens (H200), and the gradients alone 2 to 5
/// % slower at 8,192 and fewer.
inline BandPlan band_plan(const Problem& p, Branch branch, bool hopper) {
  constexpr std::int64_t kMuch = std::int64_t{1} << 23;
  const BackwardTile tile = backward_tile(p);
  const BandPlan plan(p, branch, tile.keys);
  if (!hopper || tile.width_k != kWideBandColumns || plan.rows <= kMuch) return plan;
  BandPlan wide(p, branch, kWideBandKeys);
  // No item that is much shorter than the others: a tile and its window are no longer two of them.
  wide.segment = (wide.most + wide.segments - 1) / wide.segments;
  return wide;
}

/// Workspace of a launch, alignment included.
std::int64_t band_backward_bytes(const Problem& p, Branch branch);

}  // namespace nsa::cuda
