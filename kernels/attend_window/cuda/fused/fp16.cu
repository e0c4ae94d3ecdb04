#include "attend_window/cuda/fused/launch.hpp"
#include "cuda/flash/band_launch.cuh"

namespace nsa::cuda {

void window_fp16(const AttendParams& p, CUstream_st* stream) {
  launch_band<__half, WindowBand>(p, Dtype::fp16, stream);
}

}  // namespace nsa::cuda
