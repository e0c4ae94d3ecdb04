#include "attend_compressed/cuda/fused_score/launch.cuh"
#include "attend_compressed/cuda/fused_score/run.cuh"

namespace nsa::cuda::compressed {

void fused_prepare_fp16_192(const FusedParams& p, cudaStream_t stream) {
  prepare_images<FusedTile<__half, 192, 128, 16>>(p, stream);
}
void fused_pass_fp16_192(const FusedParams& p, int multiprocessors, cudaStream_t stream) {
  run_pass<FusedTile<__half, 192, 128, 16>>(p, multiprocessors, stream);
}

}  // namespace nsa::cuda::compressed
