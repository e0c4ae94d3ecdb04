#include "attend_compressed/cuda/fused/launch.hpp"
#include "cuda/flash/band_launch.cuh"

namespace nsa::cuda {

void compressed_bf16(const AttendParams& p, CUstream_st* stream) {
  launch_band<__nv_bfloat16, CompressedBand>(p, Dtype::bf16, stream);
}

}  // namespace nsa::cuda
