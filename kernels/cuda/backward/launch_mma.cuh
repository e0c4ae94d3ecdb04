// Which tile holds the head dims, for bf16 and fp16.
#pragma once

#include "cuda/backward/hopper.hpp"
#include "cuda/backward/launch.hpp"
#include "cuda/backward/tiles/keys_kernel.cuh"
#include "cuda/backward/tiles/keys_simt.cuh"
#include "cuda/backward/tiles/keys_sm90.cuh"
#include "cuda/backward/tiles/queries_mma.cuh"
#include "cuda/backward/tiles/queries_simt.cuh"
#include "cuda/backward/tiles/queries_sm90.cuh"

namespace nsa::cuda {

/// Calls f(width of K, width of V) as integral constants, or g() where no tile of tensor cores
/// holds them.
template <class T, class F, class G>
void with_backward_widths(const AttendParams& a, F f, G g) {
  using std::integral_constant;
  constexpr Dtype kDtype = Dtype::bf16;  // fp16 has the same tiles
  const BackwardTile tile = backward_tile(kDtype, a.dk, a.dv);
  if (!tile.tensor_cores) return g();
  if (tile.width_k == 64) return f(integral_constant<int, 64>{}, integral_constant<int, 64>{});
  if (tile.width_k == 128) return f(integral_constant<int, 128>{}, integral_constant<int, 128>{});
  f(integral_constant<int, 192>{}, integral_constant<int, 128>{});
}

/// Whether the plain C++ that predicts the shared memory agrees with the kernels.
template <class T, int kDk, int kDv>
constexpr bool agrees_with_tile() {
  const BackwardTile tile = mma_backward_tile(kDk, kDv);
  return KeyShared<KeySizes<T, kDk, kDv, true>>::kBytes <=
             static_cast<std::size_t>(tile.shared_bytes) &&
         QueryShared<QuerySizesBackward<T, kDk, kDv>>::kBytes <=
             static_cast<std::size_t>(tile.shared_bytes) &&
         KeySizes<T, kDk, kDv, true>::kKeys == tile.keys;
}

template <class T, bool kQueries, class Items>
void launch_key_gradients_of(const BackwardParams& p, const Items& items, const KeyOutputs& out,
                             CUstream_st* stream) {
  const bool launched = with_hopper_width(p, [&](auto dim) {
    if constexpr (std::is_same_v<Items, BandItems> && dim() == kWideBandColumns) {
      using Wide = KeySizesSm90<T, dim(), kQueries, true>;
      static_assert(Wide::kKeys == kWideBandKeys);
      if (items.tile_keys == Wide::kKeys)
        return launch_key_gradients_sm90<Wide>(p, items, out, stream);
    }
    launch_key_gradients_sm90<KeySizesSm90<T, dim(), kQueries, false>>(p, items, out, stream);
  });
  if (launched) return;
  with_backward_widths<T>(
      p.attend,
      [&](auto dk, auto dv) {
        static_assert(agrees_with_tile<T, dk(), dv()>());
        launch_key_gradients<KeySizes<T, dk(), dv(), kQueries>>(p, items, out, stream);
      },
      [&] { launch_key_gradients_simt<SimtSizes<T, 256>>(p, items, out, stream); });
}

template <class T>
void launch_query_gradient_of(const BackwardParams& p, const BandItems& items,
                              CUstream_st* stream) {
  const bool compressed = items.compressed;
  const bool launched = with_hopper_width(p, [&](auto dim) {
    if constexpr (dim() == kWideBandColumns) {
      if (items.tile_keys == kWideBandKeys)
        return launch_query_gradient_sm90<WideQuerySizesSm90<T>>(p, compressed, stream);
    }
    launch_query_gradient_sm90<QuerySizesSm90<T, dim()>>(p, compressed, stream);
  });
  if (launched) return;
  with_backward_widths<T>(
      p.attend,
      [&](auto dk, auto dv) {
        launch_query_gradient<QuerySizesBackward<T, dk(), dv()>>(p, compressed, stream);
      },
      [&] { launch_query_gradient_simt<SimtSizes<T, 256>>(p, compressed, stream); });
}

}  // namespace nsa::cuda
