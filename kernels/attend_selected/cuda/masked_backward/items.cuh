// Which tile of keys a thread block has, and which of its keys a query sees. A tile is a part of
// one block, so a query sees the front of it, up to itself, or nothing.
#pragma once

#include "attend_selected/cuda/masked_backward/launch.hpp"
#include "cuda/backward/tiles/key_items.cuh"
#include "cuda/flash/band.cuh"

namespace nsa::cuda {

__device__ inline KeyTile key_tile(const MaskedItems& items, const BackwardParams& p, int slot) {
  const int b = slot / items.tiles_of_sequence, tile = slot - b * items.tiles_of_sequence;
  const int block = tile / items.tiles_of_block, part = tile - block * items.tiles_of_block;
  const Sequence s = p.attend.sequences[b];
  const std::int64_t first = std::int64_t{block} * p.attend.sel_block;
  return make_key_tile(s, s.kv_begin, first + part * items.tile_keys,
                       min(s.kv_len, first + p.attend.sel_block), items.tile_keys);
}

/// The first query of the sequence that can see a key of the tile.
__device__ inline int first_query(const KeyTile& tile) {
  return max(tile.first - static_cast<int>(tile.sequence.kv_len - tile.sequence.q_len), 0);
}
__device__ inline int items_of_tile(const MaskedItems& items, const KeyTile& tile) {
  if (tile.count == 0) return 0;
  const int queries = static_cast<int>(tile.sequence.q_len) - first_query(tile);
  return max(queries + items.segment - 1, 0) / items.segment;
}

/// The item of this thread block.
__device__ inline KeyItem key_item(const MaskedItems& items, const BackwardParams& p) {
  KeyItem item;
  const int piece = static_cast<int>(blockIdx.x) / p.attend.kv_heads;
  item.kv_head = static_cast<int>(blockIdx.x) - piece * p.attend.kv_heads;
  const int slot = piece / items.segments, i = piece - slot * items.segments;
  item.keys = key_tile(items, p, slot);
  if (i >= items_of_tile(items, item.keys)) return item;
  item.first = first_query(item.keys) + i * items.segment;
  item.queries = min(items.segment, static_cast<int>(item.keys.sequence.q_len) - item.first);
  item.place = (std::int64_t{item.kv_head} * items.slots() + slot) * items.segments + i;
  return item;
}

/// Whether a query chose the block. One thread asks for all that it needs at once: the ids lie
/// together.
__device__ inline bool chose(const AttendParams& a, std::int64_t token, int kv_head, int block) {
  const std::int32_t* ids = a.blocks + token * a.blocks_row_stride + kv_head * a.blocks_head_stride;
  bool chosen = false;
  for (int i = 0; i < a.sel_count; ++i) chosen |= ids[i * a.blocks_id_stride] == block;
  return chosen;
}

/// The keys that pass by a tile of `rows` rows: all so far, in tiles that do not reach into the
/// next block, so that a row sees the front of one or nothing.
template <int kKeys>
struct MaskedPass {
  static constexpr bool kByTile = true;
  static constexpr int begin = 0;
  const AttendParams& a;
  const RowTile& at;
  std::int64_t base;  // row of key 0
  int end;

  __device__ MaskedPass(const BackwardParams& p, const RowTile& tile, int rows)
      : a(p.attend),
        at(tile),
        base(tile.sequence.kv_begin),
        end(tile.position(min(tile.rows - tile.first_row, rows) - 1) + 1) {}

  __device__ int after(int first) const {
    return min(first + kKeys, (first / a.sel_block + 1) * a.sel_block);
  }
  __device__ KeyRun seen(int row, int first) const {
    const bool chosen = at.holds(row) && chose(a, at.token(row), at.kv_head, first / a.sel_block);
    return {first, chosen ? min(at.position(row) + 1, after(first)) : first};
  }
};

/// Keys of an item's tile that the query `token` sees.
__device__ inline int2 seen_of_tile(const BackwardParams& p, const KeyItem& item,
                                    std::int64_t token) {
  if (token < 0) return make_int2(0, 0);
  const Sequence& s = item.keys.sequence;
  const auto t = static_cast<int>(s.kv_len - s.q_len + token - s.q_begin);
  if (!chose(p.attend, token, item.kv_head, item.keys.first / p.attend.sel_block))
    return make_int2(0, 0);
  return make_int2(0, min(t + 1 - item.keys.first, item.keys.count));
}

}  // namespace nsa::cuda
