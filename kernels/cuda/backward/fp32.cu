#include "cuda/backward/launch.hpp"
#include "cuda/backward/tiles/keys_simt.cuh"
#include "cuda/backward/tiles/queries_simt.cuh"

namespace nsa::cuda {
namespace {

/// Calls f with the sizes of the tile that holds the head dims.
template <class F>
void with_simt_sizes(const AttendParams& a, F f) {
  switch (backward_tile(Dtype::fp32, a.dk, a.dv).width_k) {
    case 64:
      return f(SimtSizes<float, 64>{});
    case 128:
      return f(SimtSizes<float, 128>{});
    default:
      return f(SimtSizes<float, 256>{});
  }
}

template <int kWidth>
constexpr bool agrees_with_tile() {
  using Sizes = SimtSizes<float, kWidth>;
  const BackwardTile tile = simt_backward_tile(kWidth);
  return Sizes::kBytes == static_cast<std::size_t>(tile.shared_bytes) && Sizes::kKeys == tile.keys;
}
static_assert(agrees_with_tile<64>() && agrees_with_tile<128>() && agrees_with_tile<256>());

}  // namespace

void key_gradients_fp32(const BackwardParams& p, const BandItems& items, const KeyOutputs& out,
                        CUstream_st* stream) {
  with_simt_sizes(p.attend, [&](auto sizes) {
    launch_key_gradients_simt<decltype(sizes)>(p, items, out, stream);
  });
}

void listed_gradients_fp32(const BackwardParams& p, const ListedItems& items, const KeyOutputs& out,
                           CUstream_st* stream) {
  with_simt_sizes(p.attend, [&](auto sizes) {
    launch_key_gradients_simt<decltype(sizes)>(p, items, out, stream);
  });
}

void query_gradient_fp32(const BackwardParams& p, const BandItems& items, CUstream_st* stream) {
  with_simt_sizes(p.attend, [&](auto sizes) {
    launch_query_gradient_simt<decltype(sizes)>(p, items.compressed, stream);
  });
}

}  // namespace nsa::cuda
