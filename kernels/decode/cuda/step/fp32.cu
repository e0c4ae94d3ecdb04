#include "decode/cuda/step/kernel.cuh"

namespace nsa::cuda::step {

void launch_fp32(const Params& params, int batch, bool vectors, CUstream_st* stream) {
  launch_step<float>(params, batch, vectors, stream);
}

}  // namespace nsa::cuda::step
