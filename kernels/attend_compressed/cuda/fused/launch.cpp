#include "attend_compressed/cuda/fused/launch.hpp"

#include "cuda/launch/typed_kernels.hpp"

namespace nsa::attend_compressed {
namespace {

constexpr cuda::TypedKernels kFlash{cuda::compressed_fp32, cuda::compressed_bf16,
                                    cuda::compressed_fp16};

void launch_flash(const LaunchArgs& args) {
  const cuda::AttendParams params =
      cuda::make_band_params(args, BandTensors::of(args, Branch::cmp));
  kFlash.of(args.problem.dtype)(params, args.stream);
}

}  // namespace

extern constinit const LaunchFunction kCudaFused = launch_flash;

}  // namespace nsa::attend_compressed
