#include "attend_compressed/cuda/fused/launch.hpp"
#include "cuda/flash/band_launch.cuh"

namespace nsa::cuda {

void compressed_fp32(const AttendParams& p, CUstream_st* stream) {
  launch_band_fp32<CompressedBand>(p, stream);
}

}  // namespace nsa::cuda
