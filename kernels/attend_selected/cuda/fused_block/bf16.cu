#include "attend_selected/cuda/fused_block/dispatch.cuh"

namespace nsa::cuda {

bool fused_block_bf16(const AttendParams& p, const BlockPlan& plan, const LaunchArgs& args) {
  return launch_fused_block<__nv_bfloat16>(p, plan, args);
}

}  // namespace nsa::cuda
