#include "attend_selected/cuda/masked_backward/sum.hpp"

#include "attend_selected/cuda/masked_backward/items.cuh"
#include "cuda/backward/put_key.cuh"
#include "cuda/launch/launch.cuh"

namespace nsa::cuda {
namespace {

constexpr int kThreads = 256;

/// A thread takes four columns of a key.
template <class T>
__global__ void __launch_bounds__(kThreads)
    sum_masked_keys_kernel(const __grid_constant__ BackwardParams p,
                           const __grid_constant__ MaskedItems items, const float* sums,
                           int width_k, int width_v) {
  const int width = width_k + width_v, numbers = items.tile_keys * width;
  const int pieces = (numbers / 4 + kThreads - 1) / kThreads;
  const int piece = static_cast<int>(blockIdx.x) % pieces;
  const int rest = static_cast<int>(blockIdx.x) / pieces;
  const int kv_head = rest % p.attend.kv_heads, slot = rest / p.attend.kv_heads;
  const KeyTile tile = key_tile(items, p, slot);
  const int at = (piece * kThreads + static_cast<int>(threadIdx.x)) * 4;
  const int key = at / width;
  if (key >= tile.count) return;
  const float* from =
      sums + (std::int64_t{kv_head} * items.slots() + slot) * items.segments * numbers + at;
  float4 sum = make_float4(0, 0, 0, 0);
  const int count = items_of_tile(items, tile);
#pragma unroll 4
  for (int i = 0; i < count; ++i) {
    const float4 x = __ldcs(reinterpret_cast<const float4*>(from + std::int64_t{i} * numbers));
    sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;
  }
  put_key_piece<T>(p, tile.row + key, kv_head, at - key * width, width_k, sum);
}

}  // namespace

void sum_masked_keys(const BackwardParams& p, const MaskedItems& items, const BackwardTile& tile,
                     const float* sums, Dtype dtype, CUstream_st* stream) {
  const std::int64_t numbers = std::int64_t{tile.keys} * tile.width();
  const std::int64_t pieces = (numbers / 4 + kThreads - 1) / kThreads;
  with_storage_type(dtype, [&](auto zero) {
    launch(sum_masked_keys_kernel<decltype(zero)>, pieces * items.slots() * p.attend.kv_heads,
           kThreads, 0, stream, p, items, sums, tile.width_k, tile.width_v);
  });
}

}  // namespace nsa::cuda
