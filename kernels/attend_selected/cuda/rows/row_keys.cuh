// One thread block per query and KV head walks the keys of its row, and only those, for all
// heads of the group together: any head dims, alignment and device. Which keys these are, and where
// they lie, is a type of its own: ranges, blocks, or a packed copy.
#pragma once

#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/numbers.cuh"

namespace nsa::cuda {

/// `Row` has: ints(p), the shared memory that it needs; find(p, i), which row block i of the grid
/// works on, false where none; load(p, memory), by all threads; keys(); row_of(j), the row of k and
/// v of key j, negative where the query does not see it; kAllSeen, whether it sees all of keys().
template <class Tile, class Row>
__global__ void __launch_bounds__(Tile::kThreads) row_keys_kernel(AttendParams p, Row row) {
  using T = typename Tile::Storage;
  if (!row.find(p, blockIdx.x)) return;
  T* q = reinterpret_cast<T*>(dynamic_shared());
  T* k = q + Tile::q_elements(p.dk);
  T* v = k + Tile::k_elements(p.dk);
  auto* scratch = reinterpret_cast<float*>(v + Tile::kVElements);
  auto* rows = reinterpret_cast<int*>(scratch + Tile::kScratchBytes / 4);  // [kKeys]
  load_rows(q, Tile::qk_stride(p.dk), Tile::kRows, p.dk, Tile::padded_dk(p.dk), p.q.vectors,
            [&](int r) -> const T* {
              return r < p.group ? head_row<const T>(p.q, row.token, row.kv_head * p.group + r)
                                 : nullptr;
            });
  row.load(p, rows + Tile::kKeys);

  const int keys = row.keys();
  Tile tile;
  for (int first_key = 0; first_key < keys; first_key += Tile::kKeys) {
    __syncthreads();  // the step before has read its tiles
    for (int j = static_cast<int>(threadIdx.x); j < Tile::kKeys; j += Tile::kThreads)
      rows[j] = row.row_of(first_key + j);
    __syncthreads();
    load_rows(k, Tile::qk_stride(p.dk), Tile::kKeys, p.dk, Tile::padded_dk(p.dk), p.k.vectors,
              [&](int key) -> const T* {
                const int at = rows[key];
                return at >= 0 ? head_row<const T>(p.k, row.first_row + at, row.kv_head) : nullptr;
              });
    load_rows(v, Tile::kVStride, Tile::kKeys, p.dv, Tile::kPaddedDv, p.v.vectors,
              [&](int key) -> const T* {
                const int at = rows[key];
                return at >= 0 ? head_row<const T>(p.v, row.first_row + at, row.kv_head) : nullptr;
              });
    __syncthreads();
    tile.step(q, k, v, scratch, p.dk, p.scale_log2, [&](int, int key) {
      return Row::kAllSeen ? first_key + key < keys : rows[key] >= 0;
    });
  }
  tile.finish(scratch);
  tile.output(
      [&](int r, int column, float value) {
        if (r < p.group && column < p.dv)
          head_row<T>(p.o, row.token, row.kv_head * p.group + r)[column] = from_float<T>(value);
      },
      [&](int r, float lse) {
        if (p.lse && r < p.group)
          p.lse[row.token * p.lse_row_stride + (row.kv_head * p.group + r) * p.lse_head_stride] =
              lse;
      });
}

/// `rows` thread blocks.
template <class Tile, class Row>
void launch_row_keys(const AttendParams& p, const Row& row, std::int64_t rows,
                     cudaStream_t stream) {
  const std::size_t elements =
      static_cast<std::size_t>(Tile::q_elements(p.dk) + Tile::k_elements(p.dk) + Tile::kVElements);
  const std::size_t shared = elements * sizeof(typename Tile::Storage) + Tile::kScratchBytes +
                             sizeof(int) * static_cast<std::size_t>(Tile::kKeys + Row::ints(p));
  launch(row_keys_kernel<Tile, Row>, rows, Tile::kThreads, shared, stream, p, row);
}

}  // namespace nsa::cuda
