#include "attend_window/cuda/fused/launch.hpp"

#include "cuda/launch/typed_kernels.hpp"

namespace nsa::attend_window {
namespace {

constexpr cuda::TypedKernels kFused{cuda::window_fp32, cuda::window_bf16, cuda::window_fp16};

void launch_fused(const LaunchArgs& args) {
  const cuda::AttendParams params =
      cuda::make_band_params(args, BandTensors::of(args, Branch::win));
  kFused.of(args.problem.dtype)(params, args.stream);
}

}  // namespace

extern constinit const LaunchFunction kCudaFused = launch_fused;

}  // namespace nsa::attend_window
