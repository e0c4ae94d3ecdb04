#include "attend_selected/cuda_fused_query.hpp"
#include "attend_selected/cuda_fused_query_tile.cuh"
#include "cuda/flash/tile_simt.cuh"

namespace nsa::cuda {

void fused_query_fp32(const AttendParams& p, std::int64_t /*tile*/, CUstream_st* stream) {
  with_padded_dv(p.dv,
                 [&](auto width) { launch_fused_query_tile<SimtTile<16, width()>>(p, stream); });
}

}  // namespace nsa::cuda
