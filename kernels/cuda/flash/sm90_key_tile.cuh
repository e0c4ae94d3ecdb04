// A tile of keys on its way to shared memory by TMA: what the kernels of a band
// and of `fused_query` share.
#pragma once

#include "cuda/flash/tensor_map.hpp"
#include "cuda/ptx/sm90_async.cuh"

namespace nsa::cuda::sm90 {

/// One thread starts the copies of K [kKeys, dk] and V [kKeys, dv] of one KV head from row `row` on
/// to `stage`: K in swizzled panels of 64 columns, V after it. Boxes of the maps are kKeys rows of
/// 64 columns; `full` counts the bytes, kStageBytes, which the caller let it expect.
template <class Sizes>
__device__ __forceinline__ void copy_key_tile(const KeyMaps& maps, std::uint32_t stage, int kv_head,
                                              int row, std::uint32_t full) {
#pragma unroll
  for (int c = 0; c < Sizes::kDk / 64; ++c)
    copy_box(stage + c * Sizes::kKeys * 128, maps.k, 64 * c, kv_head, row, full);
#pragma unroll
  for (int c = 0; c < Sizes::kDv / 64; ++c)
    copy_box(stage + Sizes::kKBytes + c * Sizes::kKeys * 128, maps.v, 64 * c, kv_head, row, full);
}

}  // namespace nsa::cuda::sm90
