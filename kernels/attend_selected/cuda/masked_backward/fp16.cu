#include "attend_selected/cuda/masked_backward/kernel.cuh"

namespace nsa::cuda {

void masked_keys_fp16(const BackwardParams& p, const MaskedItems& items, float* sums,
                      CUstream_st* stream) {
  launch_masked_keys<__half>(p, items, sums, stream);
}
void masked_queries_fp16(const BackwardParams& p, CUstream_st* stream) {
  launch_masked_queries<__half>(p, stream);
}

}  // namespace nsa::cuda
