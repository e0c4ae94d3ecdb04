#include "attend_selected/cuda/masked/kernel.cuh"
#include "attend_selected/cuda/masked/launch.hpp"
#include "cuda/flash/tile_simt.cuh"

namespace nsa::cuda {
namespace {

template <int kDv>
using Tile = SimtTile<64, kDv>;
constexpr int kDv = 128;
static_assert(agrees<Tile<kDv>>(masked_sizes(Dtype::fp32), 80, kDv));

}  // namespace

void masked_fp32(const AttendParams& p, CUstream_st* stream) {
  with_padded_dv(p.dv, [&](auto width) { launch_masked<Tile<width()>, RangesMask>(p, stream); });
}

void masked_blocks_fp32(const AttendParams& p, CUstream_st* stream) {
  with_padded_dv(p.dv, [&](auto width) { launch_masked<Tile<width()>, BlocksMask>(p, stream); });
}

}  // namespace nsa::cuda
