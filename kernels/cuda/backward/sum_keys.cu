// Adds up the sums of a tile's items in their order, and writes the gradients of K and V.
#include "cuda/backward/launch.hpp"
#include "cuda/backward/tiles/key_items.cuh"
#include "cuda/launch/launch.cuh"

namespace nsa::cuda {
namespace {

/// A thread takes four columns of a key.
inline constexpr int kSumThreads = 256;

template <class T, class Items>
__global__ void __launch_bounds__(kSumThreads)
    sum_keys_kernel(const __grid_constant__ BackwardParams p, const __grid_constant__ Items items,
                    const float* sums, int width_k, int width_v, KeyTotals totals) {
  const int width = width_k + width_v, tile_numbers = items.tile_keys * width;
  const int pieces = (tile_numbers / 4 + kSumThreads - 1) / kSumThreads;
  const int piece = static_cast<int>(blockIdx.x) % pieces;
  const int rest = static_cast<int>(blockIdx.x) / pieces;
  const int kv_head = rest % p.attend.kv_heads, slot = rest / p.attend.kv_heads;
  const KeyTile tile = key_tile(items, p, slot);
  const int at = (piece * kSumThreads + static_cast<int>(threadIdx.x)) * 4;
  const int key = at / width, column = at - key * width;
  if (key >= tile.count) return;
  const Places places = places_of(items, p, kv_head, slot, tile);
  float4 sum = make_float4(0, 0, 0, 0);
  const float* from = sums + places.begin * tile_numbers + at;
#pragma unroll 4
  for (int i = 0; i < places.count; ++i) {
    const float4 x = __ldcs(
        reinterpret_cast<const float4*>(from + std::int64_t{i} * places.step * tile_numbers));
    sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;
  }
  const std::int64_t row = tile.row + key;
  if (totals.totals) {
    auto* total = reinterpret_cast<float4*>(totals.totals +
                                            (row * p.attend.kv_heads + kv_head) * width + column);
    if (!totals.first) {
      const float4 x = *total;
      sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;
    }
    if (!totals.last) {
      *total = sum;
      return;
    }
  }
  const bool of_k = column < width_k;
  const GradientTensor& to = of_k ? p.d_k : p.d_v;
  const int dim = of_k ? p.attend.dk : p.attend.dv, first = of_k ? column : column - width_k;
  const float factor = of_k ? p.scale : 1.0f;
  if (!to.data) return;
  put_gradient_pair<T>(to, row, kv_head, first, dim, sum.x * factor, sum.y * factor);
  put_gradient_pair<T>(to, row, kv_head, first + 2, dim, sum.z * factor, sum.w * factor);
}

template <class Items>
void launch_sums(const BackwardParams& p, const Items& items, const BackwardTile& tile,
                 const float* sums, const KeyTotals& totals, Dtype dtype, CUstream_st* stream) {
  const std::int64_t numbers = std::int64_t{items.tile_keys} * tile.width();
  const std::int64_t pieces = (numbers / 4 + kSumThreads - 1) / kSumThreads;
  with_storage_type(dtype, [&](auto zero) {
    launch(sum_keys_kernel<decltype(zero), Items>, pieces * items.slots() * p.attend.kv_heads,
           kSumThreads, 0, stream, p, items, sums, tile.width_k, tile.width_v, totals);
  });
}

}  // namespace

void sum_keys(const BackwardParams& p, const BandItems& items, const BackwardTile& tile,
              const float* sums, Dtype dtype, CUstream_st* stream) {
  launch_sums(p, items, tile, sums, {}, dtype, stream);
}

void sum_keys(const BackwardParams& p, const ListedItems& items, const BackwardTile& tile,
              const float* sums, const KeyTotals& totals, Dtype dtype, CUstream_st* stream) {
  launch_sums(p, items, tile, sums, totals, dtype, stream);
}

}  // namespace nsa::cuda
