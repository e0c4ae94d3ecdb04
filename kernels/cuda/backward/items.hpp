// The pieces of work of the gradients of K and V: a tile of keys, and some of the queries that see
// them. A tile that many queries see is cut into items, whose sums are added in order afterwards.
#pragma once

#include <cstdint>

namespace nsa::cuda {

/// Of attention to a band: every tile has `segments` items of `segment` queries at most. Sequence b
/// owns the tiles from (its first key) / tile_keys + b on, with one to spare, as query tiles do
/// (RowTile).
struct BandItems {
  bool compressed = false;
  int tile_keys = 64, tiles = 0, segment = 0, segments = 0;

  int slots() const noexcept { return tiles; }
  std::int64_t blocks(int kv_heads) const noexcept {
    return std::int64_t{tiles} * segments * kv_heads;
  }
};

/// A run of the list of a block's queries.
struct ListedRun {
  int block;         // sequence * blocks_of_sequence + block
  int begin, count;  // entries
  int unused;
};
/// An entry: query of the chunk in the low bits, and which of its picks.
inline constexpr int kEntryShift = 20;

/// Of attention to selected blocks: runs of the lists of who chose a block. A block of more keys
/// than a tile has several tiles, which share its runs.
struct ListedItems {
  int tile_keys = 64, tiles_of_block = 1, blocks_of_sequence = 0, table = 0;
  int most_runs = 0;                // of a KV head
  ListedRun* runs = nullptr;        // [kv_heads, most_runs]
  int* first_run = nullptr;         // [kv_heads, table + 1]
  std::int32_t* entries = nullptr;  // [kv_heads, most_entries]
  std::int64_t most_entries = 0;

  int slots() const noexcept { return table * tiles_of_block; }
  std::int64_t blocks(int kv_heads) const noexcept {
    return std::int64_t{most_runs} * tiles_of_block * kv_heads;
  }
};

}  // namespace nsa::cuda
