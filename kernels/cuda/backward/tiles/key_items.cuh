// Which piece of work a thread block has, and where the sums of a tile of keys are.
#pragma once

#include "cuda/backward/gradient.cuh"
#include "cuda/backward/items.hpp"
#include "cuda/flash/attend_device.cuh"

namespace nsa::cuda {

/// A tile of keys of one sequence.
struct KeyTile {
  Sequence sequence;
  std::int64_t row = 0;  // of the first key in K, V and their gradients
  int first = 0;         // the key's number in the sequence
  int count = 0;         // keys of the tile that exist; 0: no tile
};

/// A tile with a run of queries.
struct KeyItem {
  KeyTile keys;
  int kv_head = 0;
  int first = 0, queries = 0;             // of the sequence, or of `entries`
  const std::int32_t* entries = nullptr;  // null: queries one after another
  std::int64_t place = -1;                // of its sums; -1: nothing to do
};

/// Where the sums of a tile's items are.
struct Places {
  std::int64_t begin;
  int count, step;
};

/// The keys from `first` on, of those in front of `end`.
__device__ inline KeyTile make_key_tile(const Sequence& s, std::int64_t begin, std::int64_t first,
                                        std::int64_t end, int tile_keys) {
  KeyTile tile;
  tile.sequence = s;
  if (first < 0 || first >= end) return tile;
  tile.first = static_cast<int>(first);
  tile.count = static_cast<int>(min(end - first, std::int64_t{tile_keys}));
  tile.row = begin + first;
  return tile;
}

__device__ inline KeyTile key_tile(const BandItems& items, const BackwardParams& p, int slot) {
  const auto begin_of = [&](const Sequence& s) {
    return items.compressed ? s.cmp_begin : s.kv_begin;
  };
  const auto first_tile = [&](std::int64_t b) {
    return begin_of(p.attend.sequences[b]) / items.tile_keys + b;
  };
  std::int64_t low = 0, high = p.attend.batch - 1;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (first_tile(middle) <= slot) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const Sequence s = p.attend.sequences[low];
  return make_key_tile(s, begin_of(s), (slot - first_tile(low)) * items.tile_keys,
                       items.compressed ? s.cmp_len : s.kv_len, items.tile_keys);
}

/// Queries of the sequence that see a key of the tile: [begin, end).
__device__ inline KeyRun queries_of_tile(const BandItems& items, const BackwardParams& p,
                                         const KeyTile& tile) {
  const auto context = static_cast<int>(tile.sequence.kv_len - tile.sequence.q_len);
  const auto all = static_cast<int>(tile.sequence.q_len);
  const int first = tile.first * p.band.stride + p.band.block - 1 - context;
  if (items.compressed) return {max(first, 0), all};
  const std::int64_t last = std::int64_t{tile.first} + tile.count - 2 + p.band.window - context;
  return {max(first, 0), static_cast<int>(min(last + 1, std::int64_t{all}))};
}
__device__ inline int items_of_tile(const BandItems& items, const BackwardParams& p,
                                    const KeyTile& tile) {
  if (tile.count == 0) return 0;
  const KeyRun run = queries_of_tile(items, p, tile);
  return run.end <= run.begin ? 0 : (run.end - run.begin + items.segment - 1) / items.segment;
}

/// The item of this thread block.
__device__ inline KeyItem key_item(const BandItems& items, const BackwardParams& p) {
  KeyItem item;
  const int piece = static_cast<int>(blockIdx.x) / p.attend.kv_heads;
  item.kv_head = static_cast<int>(blockIdx.x) - piece * p.attend.kv_heads;
  const int slot = piece / items.segments, i = piece - slot * items.segments;
  item.keys = key_tile(items, p, slot);
  if (i >= items_of_tile(items, p, item.keys)) return item;
  const KeyRun run = queries_of_tile(items, p, item.keys);
  item.first = run.begin + i * items.segment;
  item.queries = min(items.segment, run.end - item.first);
  item.place = (std::int64_t{item.kv_head} * items.tiles + slot) * items.segments + i;
  return item;
}
__device__ inline Places places_of(const BandItems& items, const BackwardParams& p, int kv_head,
                                   int slot, const KeyTile& tile) {
  return {(std::int64_t{kv_head} * items.tiles + slot) * items.segments,
          items_of_tile(items, p, tile), 1};
}

__device__ inline KeyTile key_tile(const ListedItems& items, const BackwardParams& p, int slot) {
  const int index = slot / items.tiles_of_block, part = slot - index * items.tiles_of_block;
  const int b = index / items.blocks_of_sequence, block = index - b * items.blocks_of_sequence;
  const Sequence s = p.attend.sequences[b];
  const std::int64_t first = std::int64_t{block} * p.attend.sel_block;
  return make_key_tile(s, s.kv_begin, first + part * items.tile_keys,
                       min(s.kv_len, first + p.attend.sel_block), items.tile_keys);
}
__device__ inline KeyItem key_item(const ListedItems& items, const BackwardParams& p) {
  KeyItem item;
  const int piece = static_cast<int>(blockIdx.x) / p.attend.kv_heads;
  item.kv_head = static_cast<int>(blockIdx.x) - piece * p.attend.kv_heads;
  const int i = piece / items.tiles_of_block, part = piece - i * items.tiles_of_block;
  if (i >= items.first_run[item.kv_head * (items.table + 1) + items.table]) return item;
  const ListedRun run = items.runs[std::int64_t{item.kv_head} * items.most_runs + i];
  item.keys = key_tile(items, p, run.block * items.tiles_of_block + part);
  if (item.keys.count == 0) return item;
  item.entries = items.entries + item.kv_head * items.most_entries;
  item.first = run.begin;
  item.queries = run.count;
  item.place = (std::int64_t{item.kv_head} * items.most_runs + i) * items.tiles_of_block + part;
  return item;
}
__device__ inline Places places_of(const ListedItems& items, const BackwardParams&, int kv_head,
                                   int slot, const KeyTile&) {
  const int index = slot / items.tiles_of_block, part = slot - index * items.tiles_of_block;
  const int* run = items.first_run + kv_head * (items.table + 1) + index;
  return {(std::int64_t{kv_head} * items.most_runs + run[0]) * items.tiles_of_block + part,
          run[1] - run[0], items.tiles_of_block};
}

}  // namespace nsa::cuda
