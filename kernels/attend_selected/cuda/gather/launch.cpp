#include "attend_selected/cuda/gather/launch.hpp"

#include "cuda/launch/typed_kernels.hpp"

namespace nsa::attend_selected {
namespace {

constexpr cuda::TypedKernels kGather{cuda::gather_fp32, cuda::gather_bf16, cuda::gather_fp16};

void launch_gather(const LaunchArgs& args) {
  kGather.of(args.problem.dtype)(cuda::make_attend_params(args), args.stream);
}

}  // namespace

extern constinit const LaunchFunction kCudaGather = launch_gather;

}  // namespace nsa::attend_selected
