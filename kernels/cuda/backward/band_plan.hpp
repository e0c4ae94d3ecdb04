// How the backward pass of attention to a band cuts its work: plain C++, so that a build without
// CUDA knows its workspace.
#pragma once

#include "cuda/backward/tile.hpp"
#include "nsa/kernels/tensors.hpp"

namespace nsa::cuda {

/// Tiles of keys, and of how many queries an item has one pass by.
struct BandPlan {
  std::int64_t tiles, segment, segments;

  BandPlan(const Problem& p, Branch branch) {
    const BackwardTile tile = backward_tile(p);
    const bool compressed = branch == Branch::cmp;
    std::int64_t keys = 0, passing = 0, most = 1;  // passing: queries by tiles
    for (std::size_t b = 0; b < p.seq_lens.size(); ++b) {
      const std::int64_t length = p.seq_lens[b] + p.context_lens[b];
      const std::int64_t own = compressed ? num_compressed(length, p.geometry) : length;
      const std::int64_t own_tiles = own / tile.keys + 1;
      const std::int64_t widest =
          compressed ? p.seq_lens[b]
                     : std::min<std::int64_t>(p.seq_lens[b], tile.keys + p.geometry.window);
      keys += own;
      passing += own_tiles * (compressed ? (widest + 1) / 2 : widest);
      most = std::max(most, widest);
    }
    tiles = keys / tile.keys + static_cast<std::int64_t>(p.seq_lens.size());
    segment = queries_of_item(passing * p.kv_heads, p.heads_per_group(), tile);
    segments = (most + segment - 1) / segment;
  }
  /// Of the sums of all items.
  std::int64_t sum_numbers(const Problem& p) const {
    const BackwardTile tile = backward_tile(p);
    return p.kv_heads * tiles * segments * tile.keys * tile.width();
  }
};

/// Workspace of a launch, alignment included.
std::int64_t band_backward_bytes(const Problem& p, Branch branch);

}  // namespace nsa::cuda
