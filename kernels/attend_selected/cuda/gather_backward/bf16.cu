#include "attend_selected/cuda/gather_backward/kernel.cuh"

namespace nsa::cuda {

void gather_gradients_bf16(const BackwardParams& p, const GatherRows& rows, CUstream_st* stream) {
  launch_gather_gradients<__nv_bfloat16>(p, rows, stream);
}

}  // namespace nsa::cuda
