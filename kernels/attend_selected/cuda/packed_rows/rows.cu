#include "attend_selected/cuda/packed_rows/rows.hpp"

#include "attend_selected/cuda/packed_rows/listed_row.cuh"
#include "attend_selected/cuda/rows/ranges_row.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/numbers.cuh"

namespace nsa::cuda {
namespace {

constexpr int kThreads = 128, kListThreads = 1024;

/// A thread per row.
__global__ void __launch_bounds__(kThreads) measure_kernel(AttendParams p, std::int32_t* lengths) {
  const std::int64_t row = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (row >= p.tokens * p.kv_heads) return;
  const std::int64_t token = row / p.kv_heads;
  const Sequence s = sequence_of_token(p.sequences, p.batch, token);
  int behind = 0, keys = 0;
  for (int i = 0; i < p.sel_count; ++i) {
    const KeyRange range =
        key_range(p, token, static_cast<int>(row % p.kv_heads), i, static_cast<int>(s.kv_len));
    const int begin = max(range.begin, behind);
    if (range.end <= begin) continue;
    keys += range.end - begin;
    behind = range.end;
  }
  lengths[row] = keys;
}

/// One block: running sums, a strip of rows per thread. A row that is longer than `most` is cut
/// there, because its copies have no more room.
__global__ void __launch_bounds__(kListThreads)
    list_kernel(const std::int32_t* lengths, std::int64_t first, std::int64_t count, int most,
                PackedRow* list) {
  __shared__ std::int64_t sums[kListThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t each = (count + kListThreads - 1) / kListThreads;
  const std::int64_t begin = thread * each, end = min(begin + each, count);
  std::int64_t sum = 0;
  for (std::int64_t i = begin; i < end; ++i) sum += min(lengths[first + i], most);
  sums[thread] = sum;
  __syncthreads();
  for (int step = 1; step < kListThreads; step *= 2) {
    const std::int64_t other = thread >= step ? sums[thread - step] : 0;
    __syncthreads();
    sums[thread] += other;
    __syncthreads();
  }
  std::int64_t at = sums[thread] - sum;
  for (std::int64_t i = begin; i < end; ++i) {
    const int length = min(lengths[first + i], most);
    list[i] = {at, static_cast<int>(first + i), length};
    at += length;
  }
}

/// Copies one row of K or V by some threads: pieces of 16 bytes where rows are aligned for it.
template <class T>
__device__ void copy_key(const T* from, T* to, int dim, bool vectors, int lane, int lanes) {
  constexpr int kVector = 16 / static_cast<int>(sizeof(T));
  if (vectors) {
    for (int i = lane; i < dim / kVector; i += lanes)
      reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
  } else {
    for (int i = lane; i < dim; i += lanes) to[i] = from[i];
  }
}

/// A block per listed row, eight threads per key.
template <class T>
__global__ void __launch_bounds__(kThreads)
    pack_kernel(AttendParams p, const PackedRow* list, T* k, T* v) {
  constexpr int kLanes = 8, kVector = 16 / static_cast<int>(sizeof(T));
  const PackedRow own = list[blockIdx.x];
  const std::int64_t token = own.row / p.kv_heads;
  const int kv_head = own.row % p.kv_heads;
  const Sequence s = sequence_of_token(p.sequences, p.batch, token);
  auto* memory = reinterpret_cast<int*>(dynamic_shared());
  const RowRanges ranges{memory, memory + p.sel_count, p.sel_count};
  ranges.load(p, token, kv_head, static_cast<int>(s.kv_len));
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  for (int j = static_cast<int>(threadIdx.x) / kLanes; j < own.length; j += kThreads / kLanes) {
    const std::int64_t row = s.kv_begin + ranges.position(j), to = own.begin + j;
    copy_key(head_row<const T>(p.k, row, kv_head), k + to * p.dk, p.dk,
             p.k.vectors && p.dk % kVector == 0, lane, kLanes);
    copy_key(head_row<const T>(p.v, row, kv_head), v + to * p.dv, p.dv,
             p.v.vectors && p.dv % kVector == 0, lane, kLanes);
  }
}

}  // namespace

void measure_rows(const AttendParams& p, std::int32_t* lengths, CUstream_st* stream) {
  launch(measure_kernel, (p.tokens * p.kv_heads + kThreads - 1) / kThreads, kThreads, 0, stream, p,
         lengths);
}

void list_rows(const std::int32_t* lengths, std::int64_t first, std::int64_t count,
               std::int64_t most, PackedRow* list, CUstream_st* stream) {
  launch(list_kernel, 1, kListThreads, 0, stream, lengths, first, count, static_cast<int>(most),
         list);
}

void pack_rows(const AttendParams& p, Dtype dtype, const PackedRow* list, std::int64_t count,
               void* k, void* v, CUstream_st* stream) {
  with_storage_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(pack_kernel<T>, count, kThreads, sizeof(int) * 2 * static_cast<std::size_t>(p.sel_count),
           stream, p, list, static_cast<T*>(k), static_cast<T*>(v));
  });
}

}  // namespace nsa::cuda
