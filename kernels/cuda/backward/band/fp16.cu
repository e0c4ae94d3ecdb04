#include "cuda/backward/launch_mma.cuh"

namespace nsa::cuda {

void key_gradients_fp16(const BackwardParams& p, const BandItems& items, const KeyOutputs& out,
                        CUstream_st* stream) {
  launch_key_gradients_of<__half, false>(p, items, out, stream);
}

void query_gradient_fp16(const BackwardParams& p, const BandItems& items, CUstream_st* stream) {
  launch_query_gradient_of<__half>(p, items, stream);
}

}  // namespace nsa::cuda
