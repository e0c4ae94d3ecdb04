// What the kernels of the fused row get.
#pragma once

#include <cstdint>

#include "score/cuda/params.hpp"

namespace nsa::cuda::compressed {

/// Of one pass; everything is on the device.
struct FusedParams {
  ScoreParams score;        // q, k_cmp, blocks
  const void* v = nullptr;  // [compressed_tokens, kv_heads, dim]
  std::int64_t v_row_stride = 0, v_head_stride = 0;
  void* o = nullptr;  // [tokens, q_heads, dim]
  std::int64_t o_row_stride = 0, o_head_stride = 0;
  float* lse = nullptr;  // [tokens, q_heads]; null = not wanted
  std::int64_t lse_row_stride = 0, lse_head_stride = 0;
  bool q_vectors = false, k_vectors = false, v_vectors = false,
       o_vectors = false;  // rows at multiples of 16 bytes
  // Tile images: [kv_heads, key_tiles, 128 keys x dim], as shared memory holds them.
  void* k_image = nullptr;
  void* v_image = nullptr;
  std::int64_t key_tiles = 0;
  // Scratch of the pass, by item (slot, KV head) of it:
  std::uint16_t* scores = nullptr;  // [items, tiles, rows, 32], see pack_scores()
  float* references = nullptr;      // [items, tiles, rows] log2 that the tile's scores are against
  float* totals = nullptr;  // [items, rows] log2 of the sum of weights, less the scores' shift
  std::int64_t first_slot = 0, slots = 0, tiles = 0;
};

}  // namespace nsa::cuda::compressed
