#include "attend_compressed/cuda_flash_launch.hpp"

#include "attend_compressed/cuda_flash.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::attend_compressed {
namespace {

void launch_flash(const LaunchArgs& args) {
  const cuda::AttendParams params =
      cuda::make_band_params(args, args.saved ? args.saved->lse_cmp : TensorView{});
  switch (args.problem.dtype) {
    case Dtype::fp32:
      return cuda::compressed_fp32(params, args.stream);
    case Dtype::bf16:
      return cuda::compressed_bf16(params, args.stream);
    case Dtype::fp16:
      return cuda::compressed_fp16(params, args.stream);
    default:
      throw ContractError("expected: fp32, bf16 or fp16 on a CUDA device");
  }
}

}  // namespace

constinit const LaunchFunction kCudaFlash = launch_flash;

}  // namespace nsa::attend_compressed
