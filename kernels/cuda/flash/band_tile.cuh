// A band of keys for a tile of rows by the tiles of tile_mma.cuh and tile_simt.cuh: any head dims,
// any alignment, any device. Only tiles of keys that meet the band are visited.
#pragma once

#include "cuda/flash/attend_device.cuh"
#include "cuda/flash/band.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/numbers.cuh"

namespace nsa::cuda {

template <class Tile, class Band>
__global__ void __launch_bounds__(Tile::kThreads) band_tile_kernel(AttendParams p) {
  using T = typename Tile::Storage;
  const RowTile at(p, p.group, Tile::kRows);
  if (at.first_row >= at.rows) return;

  T* q = reinterpret_cast<T*>(dynamic_shared());
  T* k = q + Tile::q_elements(p.dk);
  T* v = k + Tile::k_elements(p.dk);
  auto* scratch = reinterpret_cast<float*>(v + Tile::kVElements);
  load_rows(q, Tile::qk_stride(p.dk), Tile::kRows, p.dk, Tile::padded_dk(p.dk), p.q.vectors,
            [&](int row) -> const T* {
              return at.holds(row) ? head_row<const T>(p.q, at.token(row), at.head(row)) : nullptr;
            });

  const int end = Band::end(p, at.position(Tile::kRows - 1));
  const std::int64_t base = Band::first_row(at.sequence);
  Tile tile;
  for (int first = Band::begin(p, at.position(0)); first < end; first += Tile::kKeys) {
    __syncthreads();  // the step before has read its tiles
    load_rows(k, Tile::qk_stride(p.dk), Tile::kKeys, p.dk, Tile::padded_dk(p.dk), p.k.vectors,
              [&](int key) -> const T* {
                return first + key < end ? head_row<const T>(p.k, base + first + key, at.kv_head)
                                         : nullptr;
              });
    load_rows(v, Tile::kVStride, Tile::kKeys, p.dv, Tile::kPaddedDv, p.v.vectors,
              [&](int key) -> const T* {
                return first + key < end ? head_row<const T>(p.v, base + first + key, at.kv_head)
                                         : nullptr;
              });
    __syncthreads();
    tile.step(q, k, v, scratch, p.dk, p.scale_log2, [&](int row, int key) {
      const int t = at.position(row);
      return first + key >= Band::begin(p, t) && first + key < Band::end(p, t);
    });
  }
  tile.finish(scratch);
  tile.output(
      [&](int row, int column, float value) {
        if (at.holds(row) && column < p.dv)
          head_row<T>(p.o, at.token(row), at.head(row))[column] = from_float<T>(value);
      },
      [&](int row, float lse) {
        if (p.lse && at.holds(row))
          p.lse[at.token(row) * p.lse_row_stride + at.head(row) * p.lse_head_stride] = lse;
      });
}

template <class Tile, class Band>
void launch_band_tile(const AttendParams& p, cudaStream_t stream) {
  const std::size_t elements =
      static_cast<std::size_t>(Tile::q_elements(p.dk) + Tile::k_elements(p.dk) + Tile::kVElements);
  const std::size_t shared = elements * sizeof(typename Tile::Storage) + Tile::kScratchBytes;
  launch(band_tile_kernel<Tile, Band>,
         std::int64_t{RowTile::tiles(p, p.group, Tile::kRows)} * p.kv_heads, Tile::kThreads, shared,
         stream, p);
}

}  // namespace nsa::cuda
