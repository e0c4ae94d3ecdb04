// Which kernel of `fused_query` runs: Hopper's for the shapes that it is compiled for, else a block
// of threads per query.
#pragma once

#include <algorithm>

#include "attend_selected/cuda/fused_query/kernel.cuh"
#include "attend_selected/cuda/fused_query/launch.hpp"
#include "attend_selected/cuda/fused_query/row_kernel.cuh"
#include "cuda/flash/tile_mma.cuh"
#include "cuda/ptx/sm90_device.hpp"

namespace nsa::cuda {

/// False where the lists of blocks do not fit the shared memory beside the ring.
template <class Sizes>
bool launch_query_sizes(const AttendParams& p, Dtype dtype, cudaStream_t stream) {
  const std::int64_t blocks = (p.max_kv_len + Sizes::kKeys - 1) / Sizes::kKeys;
  const std::int64_t most = std::min<std::int64_t>(Sizes::kQueries * p.sel_count, blocks);
  if (most > kMaxUnion || blocks > kMaxUnionBlocks) return false;
  const int entries = static_cast<int>(most + 1) / 2 * 2, stages = Sizes::stages(entries);
  if (stages < 2 || (blocks + kUnionChunk) * 4 > std::int64_t{stages} * Sizes::kStageBytes)
    return false;
  const QueryParams params{make_key_maps(p, dtype, Sizes::kKeys), p, stages, entries};
  launch(fused_query_sm90_kernel<Sizes>,
         std::int64_t{RowTile::tiles(p, 1, Sizes::kQueries)} * p.kv_heads, Sizes::kThreads,
         static_cast<std::size_t>(Sizes::fixed_bytes(entries) + stages * Sizes::kStageBytes),
         stream, params);
  return true;
}

template <class T, int kDk, int kDv, int kHeadTiles>
bool launch_query_tile(const AttendParams& p, Dtype dtype, std::int64_t tile, cudaStream_t stream) {
  constexpr int kLargeWarps = kDk == 64 && kHeadTiles == 1 ? 15 : 11;
  if (tile == kSmallQueryTile)
    return launch_query_sizes<QuerySizes<T, kDk, kDv, kHeadTiles, 7>>(p, dtype, stream);
  return launch_query_sizes<QuerySizes<T, kDk, kDv, kHeadTiles, kLargeWarps>>(p, dtype, stream);
}

template <class T, int kDk, int kDv>
bool launch_query_dims(const AttendParams& p, Dtype dtype, std::int64_t tile, cudaStream_t stream) {
  return p.group <= 8 ? launch_query_tile<T, kDk, kDv, 1>(p, dtype, tile, stream)
                      : launch_query_tile<T, kDk, kDv, 2>(p, dtype, tile, stream);
}

template <class T>
bool launch_query_on_hopper(const AttendParams& p, Dtype dtype, std::int64_t tile,
                            cudaStream_t stream) {
  if (p.sel_block != 64 || p.group > 16 || !on_hopper()) return false;
  if (whole_vectors(p, 64, 64)) return launch_query_dims<T, 64, 64>(p, dtype, tile, stream);
  if (whole_vectors(p, 128, 128)) return launch_query_dims<T, 128, 128>(p, dtype, tile, stream);
  if (whole_vectors(p, 192, 128)) return launch_query_dims<T, 192, 128>(p, dtype, tile, stream);
  return false;
}

/// bf16 and fp16.
template <class T>
void launch_fused_query(const AttendParams& p, Dtype dtype, std::int64_t tile,
                        cudaStream_t stream) {
  if (launch_query_on_hopper<T>(p, dtype, tile, stream)) return;
  with_padded_dv(p.dv,
                 [&](auto width) { launch_fused_query_tile<MmaTile<T, 16, width()>>(p, stream); });
}

}  // namespace nsa::cuda
