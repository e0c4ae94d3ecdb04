#include "attend_selected/cuda/gather_backward/kernel.cuh"

namespace nsa::cuda {

void gather_gradients_fp16(const BackwardParams& p, const GatherRows& rows, CUstream_st* stream) {
  launch_gather_gradients<__half>(p, rows, stream);
}

}  // namespace nsa::cuda
