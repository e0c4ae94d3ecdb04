#include "attend_window/cuda_launch.hpp"

#include "attend_window/cuda_fused.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::attend_window {
namespace {

void launch_fused(const LaunchArgs& args) {
  const cuda::AttendParams params =
      cuda::make_band_params(args, args.saved ? args.saved->lse_win : TensorView{});
  switch (args.problem.dtype) {
    case Dtype::fp32:
      return cuda::window_fp32(params, args.stream);
    case Dtype::bf16:
      return cuda::window_bf16(params, args.stream);
    case Dtype::fp16:
      return cuda::window_fp16(params, args.stream);
    default:
      throw ContractError("expected: fp32, bf16 or fp16 on a CUDA device");
  }
}

}  // namespace

constinit const LaunchFunction kCudaFused = launch_fused;

}  // namespace nsa::attend_window
