#include "attend_window/cuda/fused/launch.hpp"
#include "cuda/flash/band_launch.cuh"

namespace nsa::cuda {

void window_fp32(const AttendParams& p, CUstream_st* stream) {
  launch_band_fp32<WindowBand>(p, stream);
}

}  // namespace nsa::cuda
