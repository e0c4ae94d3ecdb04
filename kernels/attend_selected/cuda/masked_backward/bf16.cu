#include "attend_selected/cuda/masked_backward/kernel.cuh"

namespace nsa::cuda {

void masked_keys_bf16(const BackwardParams& p, const MaskedItems& items, float* sums,
                      CUstream_st* stream) {
  launch_masked_keys<__nv_bfloat16>(p, items, sums, stream);
}
void masked_queries_bf16(const BackwardParams& p, CUstream_st* stream) {
  launch_masked_queries<__nv_bfloat16>(p, stream);
}

}  // namespace nsa::cuda
