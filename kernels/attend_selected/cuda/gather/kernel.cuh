// `gather`: the keys that the ranges name, read where they are.
#pragma once

#include "attend_selected/cuda/rows/ranges_row.cuh"
#include "attend_selected/cuda/rows/row_keys.cuh"

namespace nsa::cuda {

template <class Tile>
void launch_gather(const AttendParams& p, cudaStream_t stream) {
  launch_row_keys<Tile>(p, RangesRow{}, p.tokens * p.kv_heads, stream);
}

}  // namespace nsa::cuda
