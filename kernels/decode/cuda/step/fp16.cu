#include "decode/cuda/step/kernel.cuh"

namespace nsa::cuda::step {

void launch_fp16(const Params& params, int batch, bool vectors, CUstream_st* stream) {
  launch_step<__half>(params, batch, vectors, stream);
}

}  // namespace nsa::cuda::step
