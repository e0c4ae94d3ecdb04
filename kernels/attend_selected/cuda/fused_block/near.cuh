// The near blocks of neighbouring queries: the first one, each query's own and the one before it.
#pragma once

#include "attend_selected/cuda/fused_block/params.cuh"

namespace nsa::cuda {

/// The near blocks of the queries [token, last] of a chunk, sequence by sequence.
struct NearWalk {
  const AttendParams& p;
  std::int64_t token, last;  // what is left, the queries of this sequence included
  std::int64_t end = 0;      // after the queries of this sequence
  std::int64_t kv_begin = 0;
  int block = 0, final = -1;  // block `block` is next, `final` the last of this sequence

  __device__ NearWalk(const AttendParams& params, std::int64_t first, std::int64_t last_token)
      : p(params), token(first), last(last_token), end(first) {}
  /// Moves on to the next block, `block`, of queries [token, end); false past the last one.
  __device__ bool next() {
    if (block < final) {
      block = block == 0 ? max(lowest_, 1) : block + 1;
      return true;
    }
    token = end;
    if (token > last) return false;
    const Sequence s = sequence_of_token(p.sequences, p.batch, token);
    end = min(last + 1, s.q_begin + s.q_len);
    kv_begin = s.kv_begin;
    lowest_ = position_of_token(s, token) / kBlockKeys - 1;
    final = position_of_token(s, end - 1) / kBlockKeys;
    block = 0;
    return true;
  }
  __device__ int row() const { return static_cast<int>(kv_begin) + block * kBlockKeys; }

 private:
  int lowest_ = 0;  // block before the own one of the sequence's first query
};

}  // namespace nsa::cuda
