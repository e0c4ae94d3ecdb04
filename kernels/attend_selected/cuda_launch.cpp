#include "attend_selected/cuda_launch.hpp"

#include "attend_selected/cuda_row_loop.hpp"
#include "attend_selected/cuda_tiles.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::attend_selected {
namespace {

using Kernel = void (*)(const cuda::AttendParams&, CUstream_st*);

/// The kernel of the problem's storage type.
void launch(const LaunchArgs& args, Kernel fp32, Kernel bf16, Kernel fp16) {
  const cuda::AttendParams params = cuda::make_attend_params(args);
  switch (args.problem.dtype) {
    case Dtype::fp32:
      return fp32(params, args.stream);
    case Dtype::bf16:
      return bf16(params, args.stream);
    case Dtype::fp16:
      return fp16(params, args.stream);
    default:
      throw ContractError("expected: fp32, bf16 or fp16 on a CUDA device");
  }
}

void launch_masked(const LaunchArgs& args) {
  launch(args, cuda::masked_fp32, cuda::masked_bf16, cuda::masked_fp16);
}

void launch_gather(const LaunchArgs& args) {
  launch(args, cuda::gather_fp32, cuda::gather_bf16, cuda::gather_fp16);
}

}  // namespace

constinit const LaunchFunction kCudaMasked = launch_masked;
constinit const LaunchFunction kCudaRanges = cuda::attend_row_by_row;
constinit const LaunchFunction kCudaGather = launch_gather;

}  // namespace nsa::attend_selected
