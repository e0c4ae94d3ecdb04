// The keys of a row by its blocks, in place.
#pragma once

#include "cuda/flash/attend_device.cuh"

namespace nsa::cuda {

/// A row of row_keys_kernel: every query and KV head, each block once.
struct BlocksRow {
  std::int64_t token = 0, first_row = 0;
  int kv_head = 0, t = 0, sel_block = 0;
  int* ids = nullptr;  // [sel_count], shared
  int count = 0;       // of them

  static constexpr bool kAllSeen = false;
  static int ints(const AttendParams& p) { return p.sel_count + 1; }
  /// False for a token between the sequences: they may cover a part of the batch only.
  __device__ bool find(const AttendParams& p, unsigned block) {
    token = block / p.kv_heads;
    kv_head = static_cast<int>(block % p.kv_heads);
    const Sequence s = sequence_of_token(p.sequences, p.batch, token);
    first_row = s.kv_begin;
    t = static_cast<int>(s.kv_len - s.q_len + token - s.q_begin);
    sel_block = p.sel_block;
    return token >= s.q_begin && token < s.q_begin + s.q_len;
  }
  __device__ void load(const AttendParams& p, int* memory) {
    const std::int32_t* row =
        p.blocks + token * p.blocks_row_stride + kv_head * p.blocks_head_stride;
    ids = memory;
    int* found = memory + p.sel_count;
    if (threadIdx.x == 0) {
      int n = 0;
      for (int i = 0; i < p.sel_count; ++i) {
        const int id = row[i * p.blocks_id_stride];
        if (id >= 0 && id <= t / p.sel_block && !contains(n, id)) ids[n++] = id;
      }
      *found = n;
    }
    __syncthreads();
    count = *found;
  }
  __device__ int keys() const { return count * sel_block; }
  __device__ int row_of(int j) const {
    const int slot = j / sel_block;
    if (slot >= count) return -1;
    const int at = ids[slot] * sel_block + j - slot * sel_block;
    return at <= t ? at : -1;
  }

 private:
  __device__ bool contains(int n, int id) const {
    for (int i = 0; i < n; ++i) {
      if (ids[i] == id) return true;
    }
    return false;
  }
};

}  // namespace nsa::cuda
