// Sizes of the fused kernel's tiles, and which queries an item holds.
#pragma once

#include "attend_compressed/cuda/fused_score/params.cuh"
#include "attend_compressed/cuda/fused_score/shape.hpp"
#include "score/cuda/device.cuh"

namespace nsa::cuda::compressed {

/// Tile sizes for heads of `kHeadDimK` and `kHeadDimV` and `kHeads` query heads per KV head. Tuned
/// on an H200: three warpgroups where their accumulators fit, as many stages as shared memory
/// holds.
template <class T, int kHeadDimK, int kHeadDimV, int kHeads>
struct FusedTile {
  using Storage = T;
  static constexpr int kDimK = kHeadDimK, kDimV = kHeadDimV, kGroup = kHeads;
  static constexpr int kQueries = static_cast<int>(fused_queries(kDimK, kDimV, kGroup));
  static constexpr int kRows = kQueries * kGroup, kKeys = static_cast<int>(kFusedKeys);
  static constexpr int kWarpgroups = kRows / 64, kThreads = 128 * (kWarpgroups + 1);
  static_assert(kRows % 64 == 0 && kDimK % 64 == 0 && kDimV % 64 == 0,
                "whole warpgroups, whole swizzled panels");
  static constexpr int kStages = kDimK == 64 ? 3 : 2;       // of K and of V
  static constexpr int kQueryStages = kDimK > 128 ? 1 : 2;  // 1: the next queries wait for these
  static constexpr int kQBytes = kRows * kDimK * 2;
  static constexpr int kKBytes = kKeys * kDimK * 2, kVBytes = kKeys * kDimV * 2;
  // Registers of the loading warpgroup and of the others: together no more than the launch gave.
  static constexpr int kLoadRegisters = kWarpgroups == 3 ? 32 : 40;
  static constexpr int kMathRegisters = kWarpgroups == 3 ? 160 : 232;
};

/// Compressed blocks that a query sees, for the one geometry that the tiles are made for.
__device__ inline int fused_visible(int position) {
  return visible_blocks(position, static_cast<int>(kFusedGeometry.cmp_block),
                        static_cast<int>(kFusedGeometry.cmp_stride));
}

/// Byte offset of 16-byte piece `piece` of a row in operands of 64-element panels, 128-byte
/// swizzle. As sm90::swizzled, which makes other machine code here: measure before you exchange it.
__device__ inline int swizzled_offset(int row, int piece, int panel_bytes) {
  return piece / 8 * panel_bytes + row * 128 + ((piece % 8) ^ (row % 8)) * 16;
}

/// Some queries of one sequence and one KV head.
struct Item {
  int token, position;  // of its first query
  int queries;          // that exist; 0 = none
  int kv_head;
  int visible;         // compressed blocks that the last query sees
  int first_key_tile;  // in the image of its KV head
  int place;           // of its scratch: counts from the first slot, whatever the order
  __device__ int tiles() const {
    constexpr int kKeys = static_cast<int>(kFusedKeys);
    return (visible + kKeys - 1) / kKeys;
  }
};

/// Item `index` of the pass, from the last slot (the longest rows) to the first.
template <class Tile>
__device__ Item item_of(const FusedParams& p, int index) {
  const ScoreParams& sp = p.score;
  const std::int64_t slot = p.first_slot + p.slots - 1 - index / sp.kv_heads;
  std::int64_t low = 0, high = sp.batch - 1;  // the last sequence that begins at or before the slot
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (fused_slots(sp.sequences[middle].q_begin, middle, Tile::kQueries) <= slot) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const Sequence s = sp.sequences[low];
  const std::int64_t first = (slot - fused_slots(s.q_begin, low, Tile::kQueries)) * Tile::kQueries;
  Item item{};
  item.kv_head = index % sp.kv_heads;
  item.place = static_cast<int>(p.slots) * sp.kv_heads - 1 - index;
  item.queries =
      static_cast<int>(max(min(s.q_len - first, std::int64_t{Tile::kQueries}), std::int64_t{0}));
  if (item.queries == 0) return item;
  item.token = static_cast<int>(s.q_begin + first);
  item.position = static_cast<int>(s.kv_len - s.q_len + first);
  item.visible = fused_visible(item.position + item.queries - 1);
  item.first_key_tile = static_cast<int>(fused_key_tiles(s.cmp_begin, low));
  return item;
}

}  // namespace nsa::cuda::compressed
