#include "attend_selected/cuda/dense_prefix/causal_band.cuh"
#include "attend_selected/cuda/dense_prefix/launch.hpp"

namespace nsa::cuda {

void dense_causal_bf16(const AttendParams& p, CUstream_st* stream) {
  launch_band<__nv_bfloat16, CausalBand>(p, Dtype::bf16, stream);
}

}  // namespace nsa::cuda
