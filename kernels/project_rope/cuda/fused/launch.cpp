#include "project_rope/cuda/fused/kernel.hpp"

#include "operands/model.hpp"
#include "project_rope/cuda/gemm/launch.hpp"

namespace nsa::project_rope {
namespace {

/// Rows that are not aligned go to gemm_16bit, which takes any.
void launch_fused(const LaunchArgs& args) {
  const ProjectTensors tensors = ProjectTensors::of(args);
  RopeParams params = make_rope_params(args, args.problem.dtype);
  params.count = tensors.x.shape[0];
  if (fused_takes(params, tensors.x, tensors.w_qkv))
    return project_and_rotate(params, tensors.x, tensors.w_qkv, args.stream);
  args.fall_back("project_rope_fused_unaligned_rows");
  launch_rounded(args, {});
}

}  // namespace

extern constinit const LaunchFunction kCudaFused = launch_fused;

}  // namespace nsa::project_rope
