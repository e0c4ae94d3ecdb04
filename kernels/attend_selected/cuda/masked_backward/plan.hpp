// How `masked` backward cuts its work: plain C++, so that a build without CUDA knows its workspace.
#pragma once

#include "cuda/backward/tile.hpp"
#include "nsa/schemas/problem.hpp"

namespace nsa::cuda {

struct MaskedBackwardPlan {
  BackwardTile tile;
  std::int64_t tiles_of_block, tiles_of_sequence, segment, segments;

  explicit MaskedBackwardPlan(const Problem& p)
      : tile(backward_tile(p)),
        tiles_of_block((p.geometry.sel_block + tile.keys - 1) / tile.keys),
        tiles_of_sequence(num_blocks(p.max_kv_len(), p.geometry) * tiles_of_block) {
    // Half of the queries see a tile where there is no context.
    const std::int64_t passing = tiles_of_sequence * ((p.total_tokens() + 1) / 2);
    segment = queries_of_item(passing * p.kv_heads, p.heads_per_group(), tile);
    segments = (p.max_seq_len() + segment - 1) / segment;
    keys_ = p.kv_heads * p.batch() * tiles_of_sequence * segments * tile.keys;
    rows_ = p.total_tokens() * p.q_heads;
  }
  /// Of the sums of all items.
  std::int64_t sum_numbers() const { return keys_ * tile.width(); }
  /// Upper bound of the workspace, the row statistics and the alignment included.
  std::int64_t bytes() const {
    constexpr std::int64_t kAlignment = 256;  // of each of two tensors
    return 8 * rows_ + 4 * sum_numbers() + 2 * kAlignment;
  }

 private:
  std::int64_t keys_ = 0, rows_ = 0;
};

}  // namespace nsa::cuda
