// The keys of a row by its ranges, laid end to end: key j is found by a search over their running
// lengths, so a short range costs no padding.
#pragma once

#include "cuda/flash/attend_device.cuh"

namespace nsa::cuda {

/// The ranges of one row in shared memory: begins[i] is where range i starts, ends[i] how many keys
/// ranges 0..i hold together.
struct RowRanges {
  int* begins;
  int* ends;
  int count;

  __device__ int keys() const { return count > 0 ? ends[count - 1] : 0; }
  /// Position of key `j` of the row, -1 past the last one.
  __device__ int position(int j) const {
    if (j >= keys()) return -1;
    int low = 0, high = count - 1;  // the first range that ends after j
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
  __device__ void load(const AttendParams& p, std::int64_t token, int kv_head, int kv_len) const {
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

/// A row of row_keys_kernel: every query and KV head, keys where they are.
struct RangesRow {
  std::int64_t token = 0, first_row = 0;
  int kv_head = 0, kv_len = 0;
  RowRanges ranges{nullptr, nullptr, 0};

  static constexpr bool kAllSeen = true;
  static int ints(const AttendParams& p) { return 2 * p.sel_count; }
  __device__ bool find(const AttendParams& p, unsigned block) {
    token = block / p.kv_heads;
    kv_head = static_cast<int>(block % p.kv_heads);
    const Sequence s = sequence_of_token(p.sequences, p.batch, token);
    first_row = s.kv_begin;
    kv_len = static_cast<int>(s.kv_len);
    return true;
  }
  __device__ void load(const AttendParams& p, int* memory) {
    ranges = {memory, memory + p.sel_count, p.sel_count};
    ranges.load(p, token, kv_head, kv_len);
  }
  __device__ int keys() const { return ranges.keys(); }
  __device__ int row_of(int j) const { return ranges.position(j); }
};

}  // namespace nsa::cuda
