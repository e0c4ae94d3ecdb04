// `fused_query` for any head dims, alignment and device: a thread block per query and KV head.
#pragma once

#include "attend_selected/cuda/rows/blocks_row.cuh"
#include "attend_selected/cuda/rows/row_keys.cuh"

namespace nsa::cuda {

template <class Tile>
void launch_fused_query_tile(const AttendParams& p, cudaStream_t stream) {
  launch_row_keys<Tile>(p, BlocksRow{}, p.tokens * p.kv_heads, stream);
}

}  // namespace nsa::cuda
