#include "cuda/backward/launch_mma.cuh"

namespace nsa::cuda {

void listed_gradients_bf16(const BackwardParams& p, const ListedItems& items, const KeyOutputs& out,
                           CUstream_st* stream) {
  launch_key_gradients_of<__nv_bfloat16, true>(p, items, out, stream);
}

}  // namespace nsa::cuda
