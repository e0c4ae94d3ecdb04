#include "attend_selected/cuda/dense_prefix/causal_band.cuh"
#include "attend_selected/cuda/dense_prefix/launch.hpp"

namespace nsa::cuda {

void dense_causal_fp16(const AttendParams& p, CUstream_st* stream) {
  launch_band<__half, CausalBand>(p, Dtype::fp16, stream);
}

}  // namespace nsa::cuda
