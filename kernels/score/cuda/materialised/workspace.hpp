// How many queries at a time the materialised form takes, and what memory that needs. Plain C++, so
// that a build without CUDA knows it too.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa::score {

/// A chunk's scratch stays below this where one query fits at all.
inline constexpr std::int64_t kChunkBytes = std::int64_t{256} << 20;

struct ChunkSizes {
  std::int64_t columns, blocks;  // of a row: compressed tokens, selection blocks
  std::int64_t logits, scores;   // numbers of one query
  std::int64_t queries;          // of a chunk
  std::int64_t bytes;            // upper bound of what a chunk takes
  ChunkSizes(const Problem& p, std::size_t p_cmp_bytes)
      : columns(p.max_compressed()),
        blocks(num_blocks(p.max_kv_len(), p.geometry)),
        logits(p.q_heads * columns),
        scores(p.kv_heads * blocks) {
    constexpr std::int64_t kAlignment = 256;  // of each of three tensors
    const std::int64_t half = p_cmp_bytes < 4 ? static_cast<std::int64_t>(p_cmp_bytes) : 0;
    const std::int64_t query_bytes = logits * (4 + half) + scores * 4;
    queries = std::clamp<std::int64_t>(kChunkBytes / query_bytes, 1,
                                       std::max<std::int64_t>(1, p.total_tokens()));
    bytes = queries * query_bytes + 3 * kAlignment;
  }
};

}  // namespace nsa::score
