#include "project_rope/cuda/fused/kernel.hpp"

#include "nsa/schemas/error.hpp"
#include "project_rope/cuda/gemm/launch.hpp"

namespace nsa::project_rope {
namespace {

/// Rows that are not aligned go to gemm_16bit, which takes any.
void launch_fused(const LaunchArgs& args) {
  expects(args.in.size() == 2 && args.out.size() == 7, "x and w_qkv in, q, K and V out");
  RopeParams params = make_rope_params(args, args.problem.dtype);
  params.count = args.in[0].shape[0];
  if (fused_takes(params, args.in[0], args.in[1]))
    return project_and_rotate(params, args.in[0], args.in[1], args.stream);
  args.fall_back("project_rope_fused_unaligned_rows");
  launch_rounded(args, {});
}

}  // namespace

extern constinit const LaunchFunction kCudaFused = launch_fused;

}  // namespace nsa::project_rope
