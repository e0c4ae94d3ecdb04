// The keys of a row in a packed copy of K and V, row after row.
#pragma once

#include "attend_selected/cuda/packed_rows/packed_row.hpp"
#include "cuda/flash/attend_device.cuh"

namespace nsa::cuda {

/// A row of row_keys_kernel: one of a list. The parameters' k and v are the packed copies
/// [keys, dk or dv], whose head stride is 0.
struct ListedRow {
  const PackedRow* list;  // on the device
  std::int64_t token = 0, first_row = 0;
  int kv_head = 0, length = 0;

  static constexpr bool kAllSeen = true;
  static int ints(const AttendParams&) { return 0; }
  __device__ bool find(const AttendParams& p, unsigned block) {
    const PackedRow own = list[block];
    token = own.row / p.kv_heads;
    kv_head = own.row % p.kv_heads;
    first_row = own.begin;
    length = own.length;
    return true;
  }
  __device__ void load(const AttendParams&, int*) {}
  __device__ int keys() const { return length; }
  __device__ int row_of(int j) const { return j < length ? j : -1; }
};

}  // namespace nsa::cuda
