#include "attend_selected/cuda/dense_prefix/launch.hpp"

#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"

namespace nsa::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kMaskBits = 64;  // blocks of a query that are followed

/// True when the row's blocks are all up to the query's own. False where a mask does not hold them.
__device__ bool covers_all(const AttendParams& p, std::int64_t token, int kv_head, int own) {
  if (own >= kMaskBits) return false;
  const std::int32_t* row = p.blocks + token * p.blocks_row_stride + kv_head * p.blocks_head_stride;
  std::uint64_t chosen = 0;
  for (int i = 0; i < p.sel_count; ++i) {
    const int id = row[i * p.blocks_id_stride];
    if (id >= 0 && id <= own) chosen |= std::uint64_t{1} << id;
  }
  return chosen == ~std::uint64_t{0} >> (kMaskBits - 1 - own);
}

/// A thread block per sequence.
__global__ void __launch_bounds__(kThreads)
    split_kernel(AttendParams p, Sequence* dense, Sequence* sparse) {
  __shared__ int split;
  const Sequence s = p.sequences[blockIdx.x];
  const std::int64_t first = s.kv_len - s.q_len;
  const std::int64_t reach = std::int64_t{p.sel_count} * p.sel_block - first;
  const int most = static_cast<int>(min(max(reach, std::int64_t{0}), s.q_len));
  if (threadIdx.x == 0) split = most;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < most * p.kv_heads; i += kThreads) {
    const int query = i / p.kv_heads;
    const int own = static_cast<int>(first + query) / p.sel_block;
    if (!covers_all(p, s.q_begin + query, i % p.kv_heads, own)) atomicMin(&split, query);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  Sequence front = s, back = s;
  front.kv_len = first + split;
  front.q_len = split;
  back.q_begin += split;
  back.q_len -= split;
  dense[blockIdx.x] = front;
  sparse[blockIdx.x] = back;
}

}  // namespace

void split_sequences(const AttendParams& p, Sequence* dense, Sequence* sparse,
                     CUstream_st* stream) {
  launch(split_kernel, p.batch, kThreads, 0, stream, p, dense, sparse);
}

}  // namespace nsa::cuda
