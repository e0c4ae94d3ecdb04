// What a decode step does to a cache (docs/nsa.md 9), with lengths that are read on the device.
#include "cuda/flash/attend_device.cuh"
#include "cuda/flash/head_tensor.hpp"
#include "cuda/launch/programmatic_launch.cuh"
#include "cuda/ptx/vectors.cuh"
#include "decode/step.hpp"
#include "score/cuda/device.cuh"

namespace nsa::decode {
namespace {

using cuda::HeadTensor;

constexpr int kThreads = 128;

struct Advance {
  Standing* standing;           // [batch]
  Sequence *selected, *window;  // [batch]
  CacheRows rows;
  std::int64_t keep;  // tokens of the window that a new one sees beside itself
  int batch, cmp_block, cmp_stride;
};

__global__ void advance_kernel(Advance p) {
  cuda::griddep_wait();
  const int b = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (b >= p.batch) return;
  Standing at = p.standing[b];
  if (at.length >= p.rows.capacity) {  // full: the last token is written again
    --at.length;
    at.in_window -= at.in_window > 0;
  }
  std::int64_t moved = 0;
  if (at.in_window + 1 > p.rows.window) {
    const std::int64_t kept = at.in_window < p.keep ? at.in_window : p.keep;
    moved = at.in_window - kept;
    at.in_window = kept;
  }
  ++at.length;
  ++at.in_window;
  const std::int64_t compressed = cuda::visible_blocks(at.length - 1, p.cmp_block, p.cmp_stride);
  p.selected[b] = {.q_begin = b,
                   .q_len = 1,
                   .kv_begin = b * p.rows.capacity,
                   .kv_len = at.length,
                   .cmp_begin = b * p.rows.compressed,
                   .cmp_len = compressed};
  p.window[b] = {.q_begin = b,
                 .q_len = 1,
                 .kv_begin = b * p.rows.window,
                 .kv_len = at.in_window,
                 .cmp_begin = moved,  // see StepSequences
                 .cmp_len = 0};
  p.standing[b] = at;
}

/// K or V of the three branches.
struct Side {
  HeadTensor<const void> fresh_cmp, fresh_sel, fresh_win;  // [batch, kv_heads, dim]
  HeadTensor<void> sel, win, raw, cmp;                     // [rows of all sequences, kv_heads, dim]
  int dim;
};

struct Append {
  Side side[2];  // K, V
  const Sequence *selected, *window;
  int kv_heads, cmp_block, cmp_stride;
};

template <class T, class Untyped>
__device__ auto* element(const HeadTensor<Untyped>& tensor, std::int64_t row, int head,
                         int column) {
  return cuda::head_row<T>(tensor, row, head) + column;
}

/// row[i] = row[i + by] for i < count, in ascending order, several loads under way at a time.
template <class T>
__device__ void move_down(T* row, std::int64_t stride, std::int64_t by, std::int64_t count) {
  constexpr int kDeep = 16;
  for (std::int64_t begin = 0; begin < count; begin += kDeep) {
    T held[kDeep];
#pragma unroll
    for (int i = 0; i < kDeep; ++i)
      if (begin + i < count) held[i] = row[(begin + i + by) * stride];
#pragma unroll
    for (int i = 0; i < kDeep; ++i)
      if (begin + i < count) row[(begin + i) * stride] = held[i];
  }
}

/// Rows that stay in the window move to the front; where they go is free of rows that stay.
template <class T>
__device__ void append_window(const Side& side, const Sequence& w, std::int64_t b, int head,
                              int column) {
  T* row = element<T>(side.win, w.kv_begin, head, column);
  const std::int64_t stride = side.win.row_stride, last = w.kv_len - 1;
  const std::int64_t moved = w.cmp_begin;
  if (moved > 0) move_down(row, stride, moved, last);
  row[last * stride] = *element<const T>(side.fresh_win, b, head, column);
}

/// The raw row waits for its block, or completes it: then the block is pooled, and the rows that
/// the next one shares with it move to the front.
template <class T>
__device__ void append_compressed(const Side& side, const Append& p, const Sequence& s,
                                  std::int64_t b, int head, int column) {
  const int seen = cuda::visible_blocks(s.kv_len - 2, p.cmp_block, p.cmp_stride);
  const auto waiting = static_cast<int>(s.kv_len - 1 - std::int64_t{seen} * p.cmp_stride);
  T* raw = element<T>(side.raw, b * p.cmp_block, head, column);
  const std::int64_t stride = side.raw.row_stride;
  const T fresh = *element<const T>(side.fresh_cmp, b, head, column);
  if (s.cmp_len == seen) {
    raw[waiting * stride] = fresh;
    return;
  }
  float sum = 0;
#pragma unroll 8
  for (int i = 0; i < waiting; ++i) sum += cuda::to_float(raw[i * stride]);
  sum += cuda::to_float(fresh);
  *element<T>(side.cmp, s.cmp_begin + seen, head, column) =
      cuda::from_float<T>(sum * (1.0f / static_cast<float>(p.cmp_block)));
  raw[waiting * stride] = fresh;
  move_down(raw, stride, p.cmp_stride, p.cmp_block - p.cmp_stride);
}

template <class T>
__global__ void __launch_bounds__(kThreads) append_kernel(Append p) {
  cuda::griddep_wait();
  const int head = static_cast<int>(blockIdx.x) % p.kv_heads;
  const auto b = static_cast<std::int64_t>(blockIdx.x) / p.kv_heads;
  const Sequence s = p.selected[b], w = p.window[b];
  for (int i = static_cast<int>(threadIdx.x); i < p.side[0].dim + p.side[1].dim; i += kThreads) {
    const bool value = i >= p.side[0].dim;
    const Side& side = p.side[value];
    const int column = value ? i - p.side[0].dim : i;
    *element<T>(side.sel, s.kv_begin + s.kv_len - 1, head, column) =
        *element<const T>(side.fresh_sel, b, head, column);
    append_window<T>(side, w, b, head, column);
    append_compressed<T>(side, p, s, b, head, column);
  }
}

void advance(const Problem& problem, const CacheRows& rows, Standing* standing, Sequence* selected,
             Sequence* window, CUstream_st* stream) {
  const Geometry& g = problem.geometry;
  const auto batch = static_cast<int>(problem.batch());
  const Advance p{.standing = standing,
                  .selected = selected,
                  .window = window,
                  .rows = rows,
                  .keep = g.window > 1 ? g.window - 1 : 0,
                  .batch = batch,
                  .cmp_block = static_cast<int>(g.cmp_block),
                  .cmp_stride = static_cast<int>(g.cmp_stride)};
  cuda::launch_pdl(advance_kernel, (batch + kThreads - 1) / kThreads, kThreads, 0, stream, p);
}

void append_step(const Problem& problem, const AttentionTensors& fresh, const CacheTensors& cache,
                 const StepSequences& sequences, CUstream_st* stream) {
  const auto side = [&](TensorView KvTensors::*of, std::int64_t dim) {
    return Side{.fresh_cmp = cuda::head_tensor<const void>(fresh.cmp.*of),
                .fresh_sel = cuda::head_tensor<const void>(fresh.sel.*of),
                .fresh_win = cuda::head_tensor<const void>(fresh.win.*of),
                .sel = cuda::head_tensor<void>(cache.sel.*of),
                .win = cuda::head_tensor<void>(cache.win.*of),
                .raw = cuda::head_tensor<void>(cache.raw.*of),
                .cmp = cuda::head_tensor<void>(cache.cmp.*of),
                .dim = static_cast<int>(dim)};
  };
  const Append p{
      .side = {side(&KvTensors::k, problem.head_dim_k), side(&KvTensors::v, problem.head_dim_v)},
      .selected = sequences.selected,
      .window = sequences.window,
      .kv_heads = static_cast<int>(problem.kv_heads),
      .cmp_block = static_cast<int>(problem.geometry.cmp_block),
      .cmp_stride = static_cast<int>(problem.geometry.cmp_stride)};
  cuda::with_storage_type(problem.dtype, [&](auto zero) {
    cuda::launch_pdl(append_kernel<decltype(zero)>, problem.batch() * problem.kv_heads, kThreads, 0,
                     stream, p);
  });
}

}  // namespace

constinit const AdvanceFunction kAdvance = advance;
constinit const AppendFunction kAppendStep = append_step;

}  // namespace nsa::decode
