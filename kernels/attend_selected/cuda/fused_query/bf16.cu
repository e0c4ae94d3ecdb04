#include "attend_selected/cuda/fused_query/dispatch.cuh"

namespace nsa::cuda {

void fused_query_bf16(const AttendParams& p, std::int64_t tile, CUstream_st* stream) {
  launch_fused_query<__nv_bfloat16>(p, Dtype::bf16, tile, stream);
}

}  // namespace nsa::cuda
