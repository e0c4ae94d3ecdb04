#include "attend_selected/cuda/gather/kernel.cuh"
#include "attend_selected/cuda/gather/launch.hpp"
#include "cuda/flash/tile_mma.cuh"

namespace nsa::cuda {
namespace {

template <int kDv>
using Tile = MmaTile<__nv_bfloat16, 16, kDv>;
constexpr int kDv = 128;
static_assert(agrees<Tile<kDv>>(gather_sizes(Dtype::bf16, kDv), 80, kDv));

}  // namespace

void gather_bf16(const AttendParams& p, CUstream_st* stream) {
  with_padded_dv(p.dv, [&](auto width) { launch_gather<Tile<width()>>(p, stream); });
}

}  // namespace nsa::cuda
