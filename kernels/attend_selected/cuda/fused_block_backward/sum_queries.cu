#include "attend_selected/cuda/fused_block_backward/sum_queries.hpp"

#include "cuda/backward/gradient.cuh"
#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/vectors.cuh"

namespace nsa::cuda {
namespace {

constexpr int kThreads = 256;

/// A piece of 16 bytes of a row (query, head) of the chunk.
struct RowPiece {
  int query, head, piece;  // head: of all query heads
  bool exists;
};
__device__ inline RowPiece row_piece(std::int64_t rows, int heads, int pieces) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  const std::int64_t row = i / pieces;
  const auto query = static_cast<int>(row / heads);
  return {query, static_cast<int>(row - std::int64_t{query} * heads),
          static_cast<int>(i - row * pieces), row < rows};
}

/// Four threads hold the columns 8 e + 2 thread + {0, 1} of a row, e below 4; afterwards each has
/// eight of them in order, the first the 8 thread-th. All four call it.
__device__ inline void to_columns_in_order(float (&x)[8]) {
  const unsigned lane = threadIdx.x % 32, quad = 0xfu << (lane & ~3u);
  // Pairs of the upper half of what the lower thread has, against the lower half of the upper
  // one's.
  const auto exchange = [&](int step, int low, int high) {
    const bool upper = (lane & static_cast<unsigned>(step)) != 0;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      float &kept = x[2 * low + c], &other = x[2 * high + c];
      const float got = __shfl_xor_sync(quad, upper ? kept : other, step);
      (upper ? kept : other) = got;
    }
  };
  exchange(1, 0, 1);
  exchange(1, 2, 3);
  exchange(2, 0, 2);
  exchange(2, 1, 3);
}

/// Columns from `column` on.
template <class T, int kNumbers>
__device__ void put_columns(const GradientTensor& d_q, std::int64_t token, int head, int column,
                            int dim, const float (&x)[kNumbers]) {
  if (d_q.vectors && column + kNumbers <= dim) {
    put_gradients<T>(d_q, token * d_q.row_stride + head * d_q.head_stride + column, x);
    return;
  }
#pragma unroll
  for (int j = 0; j < kNumbers; j += 2)
    put_gradient_pair<T>(d_q, token, head, column + j, dim, x[j], x[j + 1]);
}

/// Adds up a row's partial gradients, `stride` numbers apart, one after another where they were
/// picked. Several are read before the first is added, so that their latencies overlap; none is
/// read again.
template <class Partial, int kNumbers>
__device__ void add_picks(const Partial* partial, std::int64_t stride, const unsigned char* picked,
                          int count, float (&sum)[kNumbers]) {
  constexpr int kTogether = 8;
  for (int first = 0; first < count; first += kTogether) {
    bool there[kTogether];
    BitsOf<Partial, kNumbers> pieces[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) there[i] = first + i < count && picked[first + i] != 0;
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (!there[i]) continue;
      pieces[i] = __ldcs(reinterpret_cast<const BitsOf<Partial, kNumbers>*>(
          partial + (std::int64_t{first} + i) * stride));
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (!there[i]) continue;
      float x[kNumbers];
      unpack<Partial, kNumbers>(pieces[i], x);
#pragma unroll
      for (int j = 0; j < kNumbers; ++j) sum[j] += x[j];
    }
  }
}

/// kOrdered: columns in order, as without tensor cores; else as a thread of these held them.
template <class T, class Partial, bool kOrdered>
__global__ void __launch_bounds__(kThreads)
    sum_queries_kernel(const __grid_constant__ BackwardParams p,
                       const __grid_constant__ KeyOutputs out, int width, int tile_keys,
                       const unsigned char* picked, int queries) {
  constexpr int kNumbers = 16 / static_cast<int>(sizeof(Partial));
  const AttendParams& a = p.attend;
  const int heads = a.kv_heads * a.group;
  const RowPiece at = row_piece(std::int64_t{queries} * heads, heads, width / kNumbers);
  if (!at.exists) return;
  const int kv_head = at.head / a.group;
  const std::int64_t token = out.first_token + at.query;
  const std::int64_t row = std::int64_t{at.query} * a.kv_heads + kv_head;
  const auto* partial = static_cast<const Partial*>(out.partial) +
                        (row * out.picks * a.group + at.head - kv_head * a.group) * width +
                        at.piece * kNumbers;
  const unsigned char* const own = picked + row * a.sel_count;
  const std::int64_t stride = std::int64_t{a.group} * width;
  float sum[kNumbers] = {};
  if (out.tiles_of_block == 1) {
    add_picks<Partial>(partial, stride, own, a.sel_count, sum);
  } else {
    const std::int32_t* blocks =
        a.blocks + token * a.blocks_row_stride + kv_head * a.blocks_head_stride;
    const Sequence s = sequence_of_token(a.sequences, a.batch, token);
    const auto position = static_cast<int>(s.kv_len - s.q_len + token - s.q_begin);
    for (int i = 0; i < a.sel_count; ++i) {
      if (!own[i]) continue;
      for (int part = 0; part < out.tiles_of_block; ++part) {
        // A tile after the query has nothing to say, and may not exist.
        const std::int64_t block = blocks[i * a.blocks_id_stride];
        if (part > 0 && block * a.sel_block + part * tile_keys > position) break;
        float x[kNumbers];
        load_vector(partial + (std::int64_t{i} * out.tiles_of_block + part) * stride, x);
#pragma unroll
        for (int j = 0; j < kNumbers; ++j) sum[j] += x[j];
      }
    }
  }
  const int column = at.piece * kNumbers;  // in order, or as the thread's place among four says
  if constexpr (!kOrdered) {
    to_columns_in_order(sum);
    static_assert(partial_column(8) == 2 && partial_column(2) == 8 && partial_column(32) == 32);
  }
  put_columns<T>(p.d_q, token, at.head, column, a.dk, sum);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    put_queries_kernel(const __grid_constant__ BackwardParams p,
                       const __grid_constant__ KeyOutputs out, int width) {
  const AttendParams& a = p.attend;
  const int heads = a.kv_heads * a.group;
  const RowPiece at = row_piece(a.tokens * heads, heads, width / 4);
  if (!at.exists) return;
  const float4 x = *reinterpret_cast<const float4*>(
      out.d_q_sum + (std::int64_t{at.query} * heads + at.head) * width + at.piece * 4);
  const float numbers[4] = {x.x, x.y, x.z, x.w};
  put_columns<T>(p.d_q, at.query, at.head, at.piece * 4, a.dk, numbers);
}

std::int64_t blocks_of(std::int64_t rows, int pieces) {
  return (rows * pieces + kThreads - 1) / kThreads;
}

}  // namespace

void sum_queries(const BackwardParams& p, const KeyOutputs& out, const BackwardTile& tile,
                 const unsigned char* picked, int queries, Dtype dtype, CUstream_st* stream) {
  const std::int64_t rows = std::int64_t{queries} * p.attend.kv_heads * p.attend.group;
  with_storage_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    const bool ordered = !tile.tensor_cores;
    auto kernel = sum_queries_kernel<T, float, true>;
    if constexpr (sizeof(T) == 2) {  // fp32 has no tensor cores
      if (!ordered) kernel = sum_queries_kernel<T, T, false>;
    }
    launch(kernel, blocks_of(rows, tile.width_k / (ordered ? 4 : kVectorOf<T>)), kThreads, 0,
           stream, p, out, tile.width_k, tile.keys, picked, queries);
  });
}

void put_queries(const BackwardParams& p, const KeyOutputs& out, const BackwardTile& tile,
                 Dtype dtype, CUstream_st* stream) {
  const std::int64_t rows = p.attend.tokens * p.attend.kv_heads * p.attend.group;
  with_storage_type(dtype, [&](auto zero) {
    launch(put_queries_kernel<decltype(zero)>, blocks_of(rows, tile.width_k / 4), kThreads, 0,
           stream, p, out, tile.width_k);
  });
}

}  // namespace nsa::cuda
