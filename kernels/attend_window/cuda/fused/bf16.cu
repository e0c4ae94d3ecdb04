#include "attend_window/cuda/fused/launch.hpp"
#include "cuda/flash/band_launch.cuh"

namespace nsa::cuda {

void window_bf16(const AttendParams& p, CUstream_st* stream) {
  launch_band<__nv_bfloat16, WindowBand>(p, Dtype::bf16, stream);
}

}  // namespace nsa::cuda
