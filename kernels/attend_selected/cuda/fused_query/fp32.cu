#include "attend_selected/cuda/fused_query/launch.hpp"
#include "attend_selected/cuda/fused_query/row_kernel.cuh"
#include "cuda/flash/tile_simt.cuh"

namespace nsa::cuda {

void fused_query_fp32(const AttendParams& p, std::int64_t /*tile*/, CUstream_st* stream) {
  with_padded_dv(p.dv,
                 [&](auto width) { launch_fused_query_tile<SimtTile<16, width()>>(p, stream); });
}

}  // namespace nsa::cuda
