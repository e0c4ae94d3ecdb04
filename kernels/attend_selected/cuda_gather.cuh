// `gather`: the keys that the ranges name, read where they are.
#pragma once

#include "attend_selected/cuda_row_keys.cuh"
#include "attend_selected/cuda_row_ranges.cuh"

namespace nsa::cuda {

template <class Tile>
void launch_gather(const AttendParams& p, cudaStream_t stream) {
  launch_row_keys<Tile>(p, RangesRow{}, p.tokens * p.kv_heads, stream);
}

}  // namespace nsa::cuda
