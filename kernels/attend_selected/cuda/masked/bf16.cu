#include "attend_selected/cuda/masked/kernel.cuh"
#include "attend_selected/cuda/masked/launch.hpp"
#include "cuda/flash/tile_mma.cuh"

namespace nsa::cuda {
namespace {

template <int kDv>
using Tile = MmaTile<__nv_bfloat16, 64, kDv>;
constexpr int kDv = 128;
static_assert(agrees<Tile<kDv>>(masked_sizes(Dtype::bf16), 80, kDv));

}  // namespace

void masked_bf16(const AttendParams& p, CUstream_st* stream) {
  with_padded_dv(p.dv, [&](auto width) { launch_masked<Tile<width()>, RangesMask>(p, stream); });
}

void masked_blocks_bf16(const AttendParams& p, CUstream_st* stream) {
  with_padded_dv(p.dv, [&](auto width) { launch_masked<Tile<width()>, BlocksMask>(p, stream); });
}

}  // namespace nsa::cuda
