#include "attend_selected/cuda/fused_block/launch.hpp"

#include "attend_selected/cuda/fused_query/launch.hpp"
#include "cuda/launch/coordinate.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::attend_selected {
namespace {

/// Rows that are not aligned go to fused_query, which takes any.
void launch_fused_block(const LaunchArgs& args) {
  const cuda::AttendParams params = cuda::make_attend_params(args);
  expects(params.blocks != nullptr, "blocks");
  const cuda::BlockPlan plan(
      args.problem, cuda::coordinate(args, "chunk", cuda::default_query_chunk(args.problem)));
  const bool bf16 = args.problem.dtype == Dtype::bf16;
  if ((bf16 ? cuda::fused_block_bf16 : cuda::fused_block_fp16)(params, plan, args)) return;
  args.fall_back("fused_block_unaligned_rows");
  cuda::fused_query(params, args);
}

}  // namespace

extern constinit const LaunchFunction kCudaFusedBlock = launch_fused_block;

}  // namespace nsa::attend_selected
