#include "attend_selected/cuda/masked_backward/simt.cuh"

#include "cuda/backward/fp32_widths.hpp"

namespace nsa::cuda {

void masked_keys_fp32(const BackwardParams& p, const MaskedItems& items, float* sums,
                      CUstream_st* stream) {
  with_fp32_width(p.attend, [&](auto width) {
    launch_masked_keys_simt<SimtSizes<float, width()>>(p, items, sums, stream);
  });
}
void masked_queries_fp32(const BackwardParams& p, CUstream_st* stream) {
  with_fp32_width(p.attend, [&](auto width) {
    launch_masked_queries_simt<SimtSizes<float, width()>>(p, stream);
  });
}

}  // namespace nsa::cuda
