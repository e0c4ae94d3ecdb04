#include "cuda/backward/launch_mma.cuh"

namespace nsa::cuda {

void listed_gradients_fp16(const BackwardParams& p, const ListedItems& items, const KeyOutputs& out,
                           CUstream_st* stream) {
  launch_key_gradients_of<__half, true>(p, items, out, stream);
}

}  // namespace nsa::cuda
