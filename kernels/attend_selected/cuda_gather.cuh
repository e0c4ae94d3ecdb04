// `gather`: one block per query and KV head walks the keys that were selected, and only those, for
// all heads of the group together. The ranges are laid end to end: key j of the row is found by a
// search over their running lengths, so a short range costs no padding.
#pragma once

#include "cuda/attend_device.cuh"
#include "cuda/launch.cuh"
#include "cuda/numbers.cuh"

namespace nsa::cuda {

/// The ranges of one row in shared memory: begins[i] is where range i starts, ends[i] how many keys
/// ranges 0..i hold together.
struct RowRanges {
  int* begins;
  int* ends;
  int count;

  __device__ int keys() const { return count > 0 ? ends[count - 1] : 0; }
  /// Position of key `j` of the row, -1 behind the last one.
  __device__ int position(int j) const {
    if (j >= keys()) return -1;
    int low = 0, high = count - 1;  // the first range that ends behind j
    while (low < high) {
      const int middle = (low + high) / 2;
      if (ends[middle] > j) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return begins[low] + j - (low > 0 ? ends[low - 1] : 0);
  }
  /// Fills from global memory; all threads of the block call it. Ranges ascend; where two overlap
  /// nevertheless, a key counts once.
  __device__ void load(const AttendParams& p, std::int64_t token, int kv_head, int kv_len) {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
      const KeyRange range = key_range(p, token, kv_head, i, kv_len);
      begins[i] = range.begin;
      ends[i] = range.end;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int behind = 0, total = 0;
      for (int i = 0; i < count; ++i) {
        begins[i] = max(begins[i], behind);
        const int length = max(ends[i] - begins[i], 0);
        if (length > 0) behind = ends[i];
        total += length;
        ends[i] = total;
      }
    }
    __syncthreads();
  }
};

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads) gather_kernel(AttendParams p) {
  using T = typename Tile::Storage;
  const std::int64_t token = blockIdx.x / p.kv_heads;
  const int kv_head = static_cast<int>(blockIdx.x % p.kv_heads);
  const Sequence s = sequence_of_token(p.sequences, p.batch, token);

  T* q = reinterpret_cast<T*>(dynamic_shared());
  T* k = q + Tile::q_elements(p.dk);
  T* v = k + Tile::k_elements(p.dk);
  auto* scratch = reinterpret_cast<float*>(v + Tile::kVElements);
  auto* positions = reinterpret_cast<int*>(scratch + Tile::kScratchBytes / 4);  // [kKeys]
  const RowRanges unread{positions + Tile::kKeys, positions + Tile::kKeys + p.sel_count,
                         p.sel_count};
  RowRanges ranges = unread;

  load_rows(q, Tile::qk_stride(p.dk), Tile::kRows, p.dk, Tile::padded_dk(p.dk), p.q.vectors,
            [&](int row) -> const T* {
              return row < p.group ? head_row<const T>(p.q, token, kv_head * p.group + row)
                                   : nullptr;
            });
  ranges.load(p, token, kv_head, static_cast<int>(s.kv_len));

  const int keys = ranges.keys();
  Tile tile;
  for (int first_key = 0; first_key < keys; first_key += Tile::kKeys) {
    __syncthreads();  // the step before has read its tiles
    for (int j = static_cast<int>(threadIdx.x); j < Tile::kKeys; j += Tile::kThreads)
      positions[j] = ranges.position(first_key + j);
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
              [&](int, int key) { return first_key + key < keys; });
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
void launch_gather(const AttendParams& p, cudaStream_t stream) {
  const std::size_t elements =
      static_cast<std::size_t>(Tile::q_elements(p.dk) + Tile::k_elements(p.dk) + Tile::kVElements);
  const std::size_t shared = elements * sizeof(typename Tile::Storage) + Tile::kScratchBytes +
                             sizeof(int) * static_cast<std::size_t>(Tile::kKeys + 2 * p.sel_count);
  launch(gather_kernel<Tile>, p.tokens * p.kv_heads, Tile::kThreads, shared, stream, p);
}

}  // namespace nsa::cuda
