// `fused_query` for any head dims, alignment and device: one block of threads per query and KV head
// walks the query's blocks in place.
#pragma once

#include "cuda/attend_device.cuh"
#include "cuda/launch.cuh"
#include "cuda/numbers.cuh"

namespace nsa::cuda {

/// The blocks of one row, each once. All threads of the block call load().
struct RowBlocks {
  int* ids;   // [sel_count], shared
  int count;  // of them

  __device__ static RowBlocks load(const AttendParams& p, std::int64_t token, int kv_head, int t,
                                   int* ids) {
    const std::int32_t* row =
        p.blocks + token * p.blocks_row_stride + kv_head * p.blocks_head_stride;
    int* count = ids + p.sel_count;
    if (threadIdx.x == 0) *count = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int i = 0; i < p.sel_count; ++i) {
        const int id = row[i * p.blocks_id_stride];
        if (id >= 0 && id <= t / p.sel_block && !contains(ids, *count, id)) ids[(*count)++] = id;
      }
    }
    __syncthreads();
    return {ids, *count};
  }
  /// Position of key j of the row, -1 behind the query.
  __device__ int position(int j, int sel_block, int t) const {
    const int slot = j / sel_block;
    if (slot >= count) return -1;
    const int at = ids[slot] * sel_block + j - slot * sel_block;
    return at <= t ? at : -1;
  }

 private:
  __device__ static bool contains(const int* ids, int count, int id) {
    for (int i = 0; i < count; ++i) {
      if (ids[i] == id) return true;
    }
    return false;
  }
};

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads) fused_query_tile_kernel(AttendParams p) {
  using T = typename Tile::Storage;
  const std::int64_t token = blockIdx.x / p.kv_heads;
  const int kv_head = static_cast<int>(blockIdx.x % p.kv_heads);
  const Sequence s = sequence_of_token(p.sequences, p.batch, token);
  const int t = static_cast<int>(s.kv_len - s.q_len + token - s.q_begin);

  T* q = reinterpret_cast<T*>(dynamic_shared());
  T* k = q + Tile::q_elements(p.dk);
  T* v = k + Tile::k_elements(p.dk);
  auto* scratch = reinterpret_cast<float*>(v + Tile::kVElements);
  auto* positions = reinterpret_cast<int*>(scratch + Tile::kScratchBytes / 4);  // [kKeys]
  load_rows(q, Tile::qk_stride(p.dk), Tile::kRows, p.dk, Tile::padded_dk(p.dk), p.q.vectors,
            [&](int row) -> const T* {
              return row < p.group ? head_row<const T>(p.q, token, kv_head * p.group + row)
                                   : nullptr;
            });
  const RowBlocks blocks = RowBlocks::load(p, token, kv_head, t, positions + Tile::kKeys);

  const int keys = blocks.count * p.sel_block;
  Tile tile;
  for (int first_key = 0; first_key < keys; first_key += Tile::kKeys) {
    __syncthreads();  // the step before has read its tiles
    for (int j = static_cast<int>(threadIdx.x); j < Tile::kKeys; j += Tile::kThreads)
      positions[j] = blocks.position(first_key + j, p.sel_block, t);
    __syncthreads();
    load_rows(k, Tile::qk_stride(p.dk), Tile::kKeys, p.dk, Tile::padded_dk(p.dk), p.k.vectors,
              [&](int key) -> const T* {
                const int at = positions[key];
                return at >= 0 ? head_row<const T>(p.k, s.kv_begin + at, kv_head) : nullptr;
              });
    load_rows(v, Tile::kVStride, Tile::kKeys, p.dv, Tile::kPaddedDv, p.v.vectors,
              [&](int key) -> const T* {
                const int at = positions[key];
                return at >= 0 ? head_row<const T>(p.v, s.kv_begin + at, kv_head) : nullptr;
              });
    __syncthreads();
    tile.step(q, k, v, scratch, p.dk, p.scale_log2,
              [&](int, int key) { return positions[key] >= 0; });
  }
  tile.finish(scratch);
  tile.output(
      [&](int row, int column, float value) {
        if (row < p.group && column < p.dv)
          head_row<T>(p.o, token, kv_head * p.group + row)[column] = from_float<T>(value);
      },
      [&](int row, float lse) {
        if (p.lse && row < p.group)
          p.lse[token * p.lse_row_stride + (kv_head * p.group + row) * p.lse_head_stride] = lse;
      });
}

template <class Tile>
void launch_fused_query_tile(const AttendParams& p, cudaStream_t stream) {
  const std::size_t elements =
      static_cast<std::size_t>(Tile::q_elements(p.dk) + Tile::k_elements(p.dk) + Tile::kVElements);
  const std::size_t shared = elements * sizeof(typename Tile::Storage) + Tile::kScratchBytes +
                             sizeof(int) * static_cast<std::size_t>(Tile::kKeys + p.sel_count + 1);
  launch(fused_query_tile_kernel<Tile>, p.tokens * p.kv_heads, Tile::kThreads, shared, stream, p);
}

}  // namespace nsa::cuda
