// `masked` and `masked_blocks`: the same kernel with another mask.
#include "attend_selected/cuda/masked/launch.hpp"

#include "nsa/schemas/error.hpp"

namespace nsa::attend_selected {
namespace {

constexpr cuda::TypedKernels kMaskedBlocks{cuda::masked_blocks_fp32, cuda::masked_blocks_bf16,
                                           cuda::masked_blocks_fp16};

void launch_masked(const LaunchArgs& args) {
  cuda::kMasked.of(args.problem.dtype)(cuda::make_attend_params(args), args.stream);
}

void launch_masked_blocks(const LaunchArgs& args) {
  const cuda::AttendParams params = cuda::make_attend_params(args);
  expects(params.blocks != nullptr, "blocks");
  kMaskedBlocks.of(args.problem.dtype)(params, args.stream);
}

}  // namespace

extern constinit const LaunchFunction kCudaMasked = launch_masked;
extern constinit const LaunchFunction kCudaMaskedBlocks = launch_masked_blocks;

}  // namespace nsa::attend_selected
