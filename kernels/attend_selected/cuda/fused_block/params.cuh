// What the kernels of `fused_block` get, and the few things that they agree on.
#pragma once

#include "attend_selected/cuda/fused_block/plan.hpp"
#include "cuda/flash/attend_device.cuh"
#include "cuda/flash/tensor_map.hpp"

namespace nsa::cuda {

/// A run of the queries that chose one block.
struct BlockItem {
  int index;         // sequence * blocks_of_sequence + block
  int begin, count;  // of the stage's entries
  int unused;
};

/// `near` of a query: how many blocks it picked beside its near ones, and which of these it chose.
inline constexpr int kNearShift = 8, kChoseFirst = 1, kChoseBefore = 2, kChoseOwn = 4;
/// An entry: query of the chunk in the low bits, and the place among its picks.
inline constexpr int kSlotShift = 16;
inline constexpr int kBlockKeys = 64;

struct BlockParams {
  KeyMaps maps;  // boxes of 64 keys
  AttendParams attend;
  int chunk, stages, ring, lag, blocks_of_sequence, table, tile_queries, item_queries, item_cap;
  int* near = nullptr;         // [stages, chunk]
  int* entries = nullptr;      // [stages, chunk * sel_count]
  BlockItem* items = nullptr;  // [stages, item_cap]
  int* item_counts = nullptr;  // [stages]
  int* items_done = nullptr;   // [stages]
  int* tiles_done = nullptr;   // [stages]
  int* ticket = nullptr;       // [1] the next piece of work
  void* partial_o = nullptr;  // [ring, chunk, sel_count, group, dv], columns as a thread holds them
  float* partial_lse = nullptr;  // [ring, chunk, sel_count, group], log2 units

  __device__ int head_of(int stage) const { return stage % attend.kv_heads; }
  __device__ std::int64_t first_token(int stage) const {
    return std::int64_t{stage / attend.kv_heads} * chunk;
  }
  __device__ int queries(int stage) const {
    return static_cast<int>(min(attend.tokens - first_token(stage), std::int64_t{chunk}));
  }
  /// Tiles of neighbouring queries of a stage.
  __device__ int tiles(int stage) const {
    return (queries(stage) + tile_queries - 1) / tile_queries;
  }
  /// Row of the partial results: of one query of a stage, one of its picks, and one head.
  __device__ int partial_row(int stage, int query, int slot, int head) const {
    const int place = stage % ring * chunk + query;
    return (place * attend.sel_count + slot) * attend.group + head;
  }
};

__device__ inline int position_of_token(const Sequence& s, std::int64_t token) {
  return static_cast<int>(s.kv_len - s.q_len + token - s.q_begin);
}

}  // namespace nsa::cuda
