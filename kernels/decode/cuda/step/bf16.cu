#include "decode/cuda/step/kernel.cuh"

namespace nsa::cuda::step {

void launch_bf16(const Params& params, int batch, bool vectors, CUstream_st* stream) {
  launch_step<__nv_bfloat16>(params, batch, vectors, stream);
}

}  // namespace nsa::cuda::step
