// How the fused kernel cuts a problem. Plain C++, so that a build without CUDA knows what a device
// supports and how much scratch it takes.
//
// A slot is a tile of neighbouring queries of one sequence; an item is a slot and a KV head.
// Sequence b has slots from q_begin / queries + b on, so that a slot's sequence is found without a
// table; a slot may be empty. Tiles of compressed keys are numbered in the same way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "nsa/kernels/launch.hpp"

namespace nsa::cuda {

inline constexpr std::int64_t kFusedKeys = 128;   // compressed keys of a tile
inline constexpr std::int64_t kFusedBlocks = 32;  // selection blocks of a tile
/// l, d and l' of the tiles; n and w may be any.
inline constexpr Geometry kFusedGeometry{
    .cmp_block = 32, .cmp_stride = 16, .sel_block = 64, .sel_count = 16, .window = 512};
inline constexpr std::int64_t kFusedMaxBlocks = 2048;  // of a row, held in registers

/// Queries of a slot; with their heads they fill the rows of two or three warpgroups. 0 = not
/// built.
constexpr std::int64_t fused_queries(std::int64_t dim_k, std::int64_t dim_v, std::int64_t group) {
  if (dim_k == 64 && dim_v == 64 && group == 6) return 32;
  if ((dim_k == 128 || dim_k == 192) && dim_v == 128 && group == 16) return 8;
  return 0;
}
inline std::int64_t fused_queries(const Problem& p) {
  return fused_queries(p.head_dim_k, p.head_dim_v, p.heads_per_group());
}

constexpr std::int64_t fused_slots(std::int64_t q_begin, std::int64_t b, std::int64_t queries) {
  return q_begin / queries + b;
}
constexpr std::int64_t fused_key_tiles(std::int64_t cmp_begin, std::int64_t b) {
  return cmp_begin / kFusedKeys + b;
}

/// Slots [first, first + count) of one pass over the chip, and what its scratch is measured by.
struct FusedChunk {
  std::int64_t first, count;
  std::int64_t tiles;  // most key tiles of an item
};

/// The passes: as few as keep the scratch below the budget.
std::vector<FusedChunk> fused_chunks(const Problem& p, std::span<const Sequence> sequences);
/// Bytes of block scores, of their references, and of the rows' sums of weights.
std::int64_t fused_score_bytes(const Problem& p, const FusedChunk& chunk);
std::int64_t fused_reference_bytes(const Problem& p, const FusedChunk& chunk);
std::int64_t fused_row_bytes(const Problem& p, const FusedChunk& chunk);
/// Tiles of 128 keys in the images of K and V, of a KV head; and the bytes of an image.
std::int64_t fused_image_tiles(const Problem& p);
std::int64_t fused_image_bytes(const Problem& p, std::int64_t head_dim);
std::int64_t fused_workspace(const Problem& p);

}  // namespace nsa::cuda
