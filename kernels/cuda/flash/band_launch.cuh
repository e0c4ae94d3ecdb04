// Which kernel of a band runs: Hopper's for the shapes that it is compiled for, else the tiles.
#pragma once

#include "cuda/flash/band_sm90.cuh"
#include "cuda/flash/band_tile.cuh"
#include "cuda/flash/tile_mma.cuh"
#include "cuda/flash/tile_simt.cuh"
#include "cuda/ptx/sm90_device.hpp"

namespace nsa::cuda {

/// Warpgroups of a block and blocks of an SM: two blocks of 128 rows where registers allow it, else
/// one of 192 rows.
template <class T>
using NarrowBand = BandSm90<T, 64, 64, 2, 2>;
template <class T>
using WideBand = BandSm90<T, 128, 128, 3, 1>;
template <class T>
using PaperBand = BandSm90<T, 192, 128, 2, 1>;

/// True where 32 bits hold the distance of any two rows of a tile in q, and in o
/// (RowTile::offset_of).
inline bool near_rows(const AttendParams& p) {
  constexpr std::int64_t kMostRows = 192, kMost = 0x7fffff00;  // and a row
  const auto near = [&](const auto& t) {
    return (kMostRows / p.group + 2) * t.row_stride + p.group * t.head_stride <= kMost;
  };
  return near(p.q) && near(p.o);
}

template <class T, class Band>
bool launch_on_hopper(const AttendParams& p, Dtype dtype, cudaStream_t stream) {
  if (p.context_tokens == 0 || !on_hopper()) return false;  // no compressed key so far
  if (!near_rows(p)) return false;
  if (whole_vectors(p, 64, 64))
    return launch_band_sm90<NarrowBand<T>, Band>(p, dtype, stream), true;
  if (whole_vectors(p, 128, 128))
    return launch_band_sm90<WideBand<T>, Band>(p, dtype, stream), true;
  if (whole_vectors(p, 192, 128))
    return launch_band_sm90<PaperBand<T>, Band>(p, dtype, stream), true;
  return false;
}

/// bf16 and fp16. Without Hopper's kernels a decode step takes a tile of 16 rows, which splits the
/// keys over four warps.
template <class T, class Band>
void launch_band(const AttendParams& p, Dtype dtype, cudaStream_t stream) {
  if (launch_on_hopper<T, Band>(p, dtype, stream)) return;
  const bool few_rows = p.tokens * p.group <= 16 * p.batch;
  with_padded_dv(p.dv, [&](auto width) {
    if (few_rows) {
      launch_band_tile<MmaTile<T, 16, width()>, Band>(p, stream);
    } else {
      launch_band_tile<MmaTile<T, 64, width()>, Band>(p, stream);
    }
  });
}

template <class Band>
void launch_band_fp32(const AttendParams& p, cudaStream_t stream) {
  with_padded_dv(p.dv,
                 [&](auto width) { launch_band_tile<SimtTile<64, width()>, Band>(p, stream); });
}

}  // namespace nsa::cuda
