#include "attend_selected/cuda/fused_query/dispatch.cuh"

namespace nsa::cuda {

void fused_query_fp16(const AttendParams& p, std::int64_t tile, CUstream_st* stream) {
  launch_fused_query<__half>(p, Dtype::fp16, tile, stream);
}

}  // namespace nsa::cuda
