#include "attend_selected/cuda/gather_backward/simt.cuh"

#include "cuda/backward/fp32_widths.hpp"

namespace nsa::cuda {

void gather_gradients_fp32(const BackwardParams& p, const GatherRows& rows, CUstream_st* stream) {
  with_fp32_width(p.attend, [&](auto width) {
    launch_gather_gradients_simt<SimtSizes<float, width()>>(p, rows, stream);
  });
}

}  // namespace nsa::cuda
