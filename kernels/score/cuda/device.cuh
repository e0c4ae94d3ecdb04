// Which query a row of blocks belongs to, and where that row goes.
#pragma once

#include "cuda/flash/attend_device.cuh"
#include "score/cuda/params.hpp"
#include "score/cuda/top_blocks.cuh"

namespace nsa::cuda {

/// Compressed blocks that a query at `position` sees (docs/nsa.md 3).
__device__ inline int visible_blocks(std::int64_t position, int cmp_block, int cmp_stride) {
  if (position + 1 < cmp_block) return 0;
  return static_cast<int>((position + 1 - cmp_block) / cmp_stride) + 1;
}

__device__ inline std::int64_t position_of(const Sequence& s, std::int64_t token) {
  return s.kv_len - s.q_len + token - s.q_begin;
}

__device__ inline BlockRow block_row(const ScoreParams& p, std::int64_t token, int kv_head) {
  return {p.blocks + token * p.blocks_row_stride + kv_head * p.blocks_head_stride,
          p.blocks_id_stride,
          p.saved ? p.saved + token * p.saved_row_stride + kv_head * p.saved_head_stride : nullptr,
          p.saved_id_stride};
}

}  // namespace nsa::cuda
