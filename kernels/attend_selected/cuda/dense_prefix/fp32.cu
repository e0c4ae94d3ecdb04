#include "attend_selected/cuda/dense_prefix/causal_band.cuh"
#include "attend_selected/cuda/dense_prefix/launch.hpp"

namespace nsa::cuda {

void dense_causal_fp32(const AttendParams& p, CUstream_st* stream) {
  launch_band_fp32<CausalBand>(p, stream);
}

}  // namespace nsa::cuda
