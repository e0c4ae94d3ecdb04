// What a thread of the tensor-core kernels knows of its two rows (query, head of the group).
#pragma once

#include "cuda/backward/gradient.cuh"
#include "cuda/flash/band.cuh"

namespace nsa::cuda {

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

}  // namespace nsa::cuda
