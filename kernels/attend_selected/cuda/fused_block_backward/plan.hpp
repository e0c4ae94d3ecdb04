// How the backward pass by blocks cuts its work and lays out its workspace: plain C++, so that a
// build without CUDA knows it too.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/backward/tile.hpp"
#include "nsa/schemas/problem.hpp"

namespace nsa::cuda {

/// A pick of a query makes a partial gradient of q. Of how many bytes of these are in memory at a
/// time; queries are taken in chunks that need no more.
inline constexpr std::int64_t kPartialBytes = std::int64_t{4} << 30;
/// What an entry holds of a query's picks, and of a chunk's queries.
inline constexpr std::int64_t kMostPicks = 2048, kMostChunk = std::int64_t{1} << 20;

/// Sizes are counts of elements. `atomic`: no partial gradients.
struct SelectedBackwardPlan {
  BackwardTile tile;
  std::int64_t blocks_of_sequence, table, tiles_of_block, picks, chunk, chunks, words, run_queries,
      most_runs, most_entries;

  SelectedBackwardPlan(const Problem& p, bool atomic)
      : tile(backward_tile(p)),
        blocks_of_sequence(num_blocks(p.max_kv_len(), p.geometry)),
        table(p.batch() * blocks_of_sequence),
        tiles_of_block((p.geometry.sel_block + tile.keys - 1) / tile.keys),
        picks(p.geometry.sel_count * tiles_of_block) {
    constexpr std::int64_t kWordsTogether = 128;  // queries: four words of 32 bits
    const std::int64_t row = p.q_heads * picks * tile.width_k * tile.partial_bytes;
    const std::int64_t fits = atomic ? kMostChunk : std::min(kPartialBytes / row, kMostChunk);
    const std::int64_t wanted = std::min(p.total_tokens(), std::max(fits, kWordsTogether));
    chunk = (wanted + kWordsTogether - 1) / kWordsTogether * kWordsTogether;
    chunks = (p.total_tokens() + chunk - 1) / chunk;
    words = chunk / 32;
    most_entries = chunk * p.geometry.sel_count;
    run_queries = queries_of_item(most_entries * p.kv_heads, p.heads_per_group(), tile);
    most_runs = std::min(table, most_entries) + most_entries / run_queries;
    heads_ = p.kv_heads;
    group_ = p.heads_per_group();
    tokens_ = p.total_tokens();
    context_ = p.total_context();
    sel_count_ = p.geometry.sel_count;
    atomic_ = atomic;
  }

  std::int64_t list_count() const { return heads_ * table; }
  std::int64_t word_count() const { return list_count() * words; }
  std::int64_t entry_count() const { return heads_ * most_entries; }
  std::int64_t run_count() const { return heads_ * most_runs; }
  std::int64_t first_run_count() const { return heads_ * (table + 1); }
  std::int64_t picked_count() const { return chunk * heads_ * sel_count_; }  // bytes
  std::int64_t sum_count() const { return run_count() * tiles_of_block * tile.keys * tile.width(); }
  std::int64_t total_count() const { return chunks > 1 ? context_ * heads_ * tile.width() : 0; }
  std::int64_t partial_bytes() const {
    return atomic_ ? 4 * tokens_ * heads_ * group_ * tile.width_k
                   : chunk * heads_ * group_ * picks * tile.width_k * tile.partial_bytes;
  }
  /// Upper bound of all, the row statistics and the alignment included.
  std::int64_t bytes() const {
    constexpr std::int64_t kAlignment = 256, kTensors = 10;
    return 8 * tokens_ * heads_ * group_ +
           4 * (2 * word_count() + list_count() + entry_count() + 4 * run_count() +
                first_run_count() + sum_count() + total_count()) +
           picked_count() + partial_bytes() + kTensors * kAlignment;
  }

 private:
  std::int64_t heads_ = 0, group_ = 0, tokens_ = 0, context_ = 0, sel_count_ = 0;
  bool atomic_ = false;
};

}  // namespace nsa::cuda
