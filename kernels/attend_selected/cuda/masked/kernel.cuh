// `masked`: dense attention over all keys up to the query, and a mask that says which were
// selected. O(S^2). A tile of rows holds the heads of a group of neighbouring queries, so that one
// load of K and V serves them all. The mask is never stored: the ranges of a row ascend and so do
// the key tiles, so one thread per row turns its next ranges into the 64 bits of the tile at hand.
// `masked_blocks` makes them from the blocks instead.
#pragma once

#include <algorithm>

#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/numbers.cuh"

namespace nsa::cuda {

/// A mask from ranges: of the keys [first_key, first_key + keys), those that a row's ranges cover.
struct RangesMask {
  int next = 0;  // the first range that reaches past the tiles before

  __device__ std::uint64_t bits(const AttendParams& p, std::int64_t token, int kv_head, int /*t*/,
                                int kv_len, int first_key, int keys) {
    std::uint64_t bits = 0;
    bool passed = true;  // all ranges so far end before this tile
    for (int i = next; i < p.sel_count; ++i) {
      const KeyRange range = key_range(p, token, kv_head, i, kv_len);
      const bool over = range.end <= first_key || range.end <= range.begin;
      if (passed && over) next = i + 1;
      if (over) continue;
      passed = false;
      const int begin = max(range.begin - first_key, 0), end = min(range.end - first_key, keys);
      if (begin >= keys) break;
      bits |= (~std::uint64_t{0} >> (64 - (end - begin))) << begin;
    }
    return bits;
  }
};

/// A mask from blocks, in any order: no ranges are needed.
struct BlocksMask {
  __device__ std::uint64_t bits(const AttendParams& p, std::int64_t token, int kv_head, int t,
                                int /*kv_len*/, int first_key, int keys) const {
    const std::int32_t* row =
        p.blocks + token * p.blocks_row_stride + kv_head * p.blocks_head_stride;
    std::uint64_t bits = 0;
    for (int i = 0; i < p.sel_count; ++i) {
      const int id = row[i * p.blocks_id_stride];
      if (id < 0 || id > t / p.sel_block) continue;
      const int first = id * p.sel_block - first_key;
      const int begin = max(first, 0);
      const int end = min(min(first + p.sel_block, t + 1 - first_key), keys);
      if (begin < end) bits |= (~std::uint64_t{0} >> (64 - (end - begin))) << begin;
    }
    return bits;
  }
};

/// Where a block works. Sequence b owns the tiles from first_tile(b) on, with one to spare, so that
/// no list of tiles is needed for a ragged batch.
template <class Tile>
__host__ __device__ std::int64_t first_tile(std::int64_t q_begin, int group, std::int64_t b) {
  return q_begin * group / Tile::kRows + b;
}

template <class Tile>
__device__ std::int64_t sequence_of_tile(const AttendParams& p, std::int64_t tile) {
  std::int64_t low = 0, high = p.batch - 1;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (first_tile<Tile>(p.sequences[middle].q_begin, p.group, middle) <= tile) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

template <class Tile, class Mask>
__global__ void __launch_bounds__(Tile::kThreads) masked_kernel(AttendParams p) {
  using T = typename Tile::Storage;
  const std::int64_t tiles = first_tile<Tile>(p.tokens, p.group, p.batch);
  const std::int64_t slot = tiles - 1 - blockIdx.x % tiles;  // long rows first
  const int kv_head = static_cast<int>(blockIdx.x / tiles);
  const std::int64_t b = sequence_of_tile<Tile>(p, slot);
  const Sequence s = p.sequences[b];
  const std::int64_t rows = s.q_len * p.group;  // (query, head of the group)
  const std::int64_t first_row =
      (slot - first_tile<Tile>(s.q_begin, p.group, b)) * static_cast<std::int64_t>(Tile::kRows);
  if (first_row >= rows) return;

  T* q = reinterpret_cast<T*>(dynamic_shared());
  T* k = q + Tile::q_elements(p.dk);
  T* v = k + Tile::k_elements(p.dk);
  auto* scratch = reinterpret_cast<float*>(v + Tile::kVElements);
  auto* bits = reinterpret_cast<std::uint64_t*>(scratch + Tile::kScratchBytes / 4);

  const auto token_of = [&](int row) { return s.q_begin + (first_row + row) / p.group; };
  const auto head_of = [&](int row) {
    return kv_head * p.group + static_cast<int>((first_row + row) % p.group);
  };
  load_rows(q, Tile::qk_stride(p.dk), Tile::kRows, p.dk, Tile::padded_dk(p.dk), p.q.vectors,
            [&](int row) -> const T* {
              return first_row + row < rows ? head_row<const T>(p.q, token_of(row), head_of(row))
                                            : nullptr;
            });

  const std::int64_t last_row = min(first_row + Tile::kRows, rows) - 1;
  const int keys = static_cast<int>(s.kv_len - s.q_len + last_row / p.group + 1);
  const int own_row = static_cast<int>(threadIdx.x);
  const bool owns_row = own_row < Tile::kRows && first_row + own_row < rows;
  const int position = static_cast<int>(s.kv_len - s.q_len + (first_row + own_row) / p.group);
  Mask mask;
  Tile tile;
  for (int first_key = 0; first_key < keys; first_key += Tile::kKeys) {
    __syncthreads();  // the step before has read its tiles
    const auto row_of_key = [&](int key) { return s.kv_begin + first_key + key; };
    load_rows(k, Tile::qk_stride(p.dk), Tile::kKeys, p.dk, Tile::padded_dk(p.dk), p.k.vectors,
              [&](int key) -> const T* {
                return first_key + key < keys ? head_row<const T>(p.k, row_of_key(key), kv_head)
                                              : nullptr;
              });
    load_rows(v, Tile::kVStride, Tile::kKeys, p.dv, Tile::kPaddedDv, p.v.vectors,
              [&](int key) -> const T* {
                return first_key + key < keys ? head_row<const T>(p.v, row_of_key(key), kv_head)
                                              : nullptr;
              });
    if (own_row < Tile::kRows) {
      bits[own_row] = owns_row ? mask.bits(p, token_of(own_row), kv_head, position, keys, first_key,
                                           Tile::kKeys)
                               : 0;
    }
    __syncthreads();
    tile.step(q, k, v, scratch, p.dk, p.scale_log2,
              [&](int row, int key) { return (bits[row] >> key & 1) != 0; });
  }
  tile.finish(scratch);
  tile.output(
      [&](int row, int column, float value) {
        if (first_row + row < rows && column < p.dv)
          head_row<T>(p.o, token_of(row), head_of(row))[column] = from_float<T>(value);
      },
      [&](int row, float lse) {
        if (p.lse && first_row + row < rows)
          p.lse[token_of(row) * p.lse_row_stride + head_of(row) * p.lse_head_stride] = lse;
      });
}

template <class Tile, class Mask>
void launch_masked(const AttendParams& p, cudaStream_t stream) {
  const std::size_t elements =
      static_cast<std::size_t>(Tile::q_elements(p.dk) + Tile::k_elements(p.dk) + Tile::kVElements);
  const std::size_t shared = elements * sizeof(typename Tile::Storage) + Tile::kScratchBytes +
                             Tile::kRows * sizeof(std::uint64_t);
  launch(masked_kernel<Tile, Mask>, first_tile<Tile>(p.tokens, p.group, p.batch) * p.kv_heads,
         Tile::kThreads, shared, stream, p);
}

}  // namespace nsa::cuda
