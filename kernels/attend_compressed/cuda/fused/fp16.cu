#include "attend_compressed/cuda/fused/launch.hpp"
#include "cuda/flash/band_launch.cuh"

namespace nsa::cuda {

void compressed_fp16(const AttendParams& p, CUstream_st* stream) {
  launch_band<__half, CompressedBand>(p, Dtype::fp16, stream);
}

}  // namespace nsa::cuda
