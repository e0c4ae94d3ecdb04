// `masked_short`: the kernel of `masked` with tiles of 16 rows instead of 64. Where a sequence is
// so short that tiles of 64 rows leave most multiprocessors idle, a tile of 16 makes four times as
// many thread blocks; beyond that it loads K and V four times as often. H200, bf16, 12 heads over
// 2, cold L2: 16.2 us against 18.0 at 32 tokens, 53.7 against 60.5 at 512, 105 against 109 at
// 1,024, but 280 against 191 at 2,048.
#include "attend_selected/cuda/masked/kernel.cuh"
#include "cuda/flash/tile_mma.cuh"
#include "nsa/kernels/launch.hpp"

namespace nsa::attend_selected {
namespace {

template <class T>
void launch_tiles_of_16(const LaunchArgs& args) {
  const cuda::AttendParams params = cuda::make_attend_params(args);
  cuda::with_padded_dv(params.dv, [&](auto width) {
    cuda::launch_masked<cuda::MmaTile<T, 16, width()>, cuda::RangesMask>(params, args.stream);
  });
}

void launch_masked_short(const LaunchArgs& args) {
  if (args.problem.dtype == Dtype::bf16) return launch_tiles_of_16<__nv_bfloat16>(args);
  launch_tiles_of_16<__half>(args);
}

}  // namespace

extern constinit const LaunchFunction kCudaMaskedShort = launch_masked_short;

}  // namespace nsa::attend_selected
