// What a thread of the tensor-core kernels knows of its two rows (query, head of the group), which
// keys pass by a tile of rows, and the launch of a block for each tile.
#pragma once

#include "cuda/backward/gradient.cuh"
#include "cuda/flash/band.cuh"
#include "cuda/launch/launch.cuh"

namespace nsa::cuda {

/// The keys of a band that pass by a tile of `rows` rows, kKeys of them at a time.
template <int kKeys>
struct BandPass {
  static constexpr bool kByTile = false;  // whether what a row sees differs from tile to tile
  const BackwardParams& p;
  const RowTile& at;
  std::int64_t base;  // row of key 0
  int begin, end;

  __device__ BandPass(const BackwardParams& params, const RowTile& tile, int rows, bool compressed)
      : p(params),
        at(tile),
        base(compressed ? tile.sequence.cmp_begin : tile.sequence.kv_begin),
        begin(band_keys(params.band, tile.position(0)).begin),
        end(band_keys(params.band, tile.position(rows - 1)).end) {}

  /// The first key after the tile of keys that begins at `first`.
  __device__ int after(int first) const { return first + kKeys; }
  /// Keys that a row sees.
  __device__ KeyRun seen(int row, int /*first*/) const {
    return band_keys(p.band, at.position(row));
  }
};

struct QueryRows {
  float lse[2], mean[2];  // of BackwardParams::stats
  KeyRun seen[2];
};

/// Rows `own` and `own` + 8 of the tile; no weight is left of those that it does not have.
__device__ __forceinline__ QueryRows query_rows(const BackwardParams& p, const RowTile& at,
                                                int own) {
  QueryRows rows;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = own + 8 * i;
    const std::int64_t place = at.token(row) * p.attend.kv_heads * p.attend.group + at.head(row);
    const float2 stats = at.holds(row) ? reinterpret_cast<const float2*>(p.stats)[place]
                                       : make_float2(INFINITY, 0.0f);
    rows.lse[i] = stats.x;
    rows.mean[i] = stats.y;
    rows.seen[i] = band_keys(p.band, at.position(row));
  }
  return rows;
}

/// Enqueues a kernel of `p` and `more` with a block for each tile of rows of each KV head.
template <class Sizes, class Kernel, class... More>
void launch_row_tiles(Kernel kernel, std::size_t shared_bytes, CUstream_st* stream,
                      const BackwardParams& p, const More&... more) {
  launch(kernel,
         std::int64_t{RowTile::tiles(p.attend, p.attend.group, Sizes::kRows)} * p.attend.kv_heads,
         Sizes::kThreads, shared_bytes, stream, p, more...);
}

}  // namespace nsa::cuda
