// Backward of phi "avg" on a GPU: a raw token gathers from the compressed rows that cover it, so
// that every number has one thread, and sums are made in order.
#include "cuda/backward/gradient.cuh"
#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/memory/alignment.hpp"
#include "operands/select_backward.hpp"

namespace nsa::compress {
namespace {

constexpr int kThreads = 256;

/// K or V.
struct Side {
  cuda::HeadTensor<const void> pooled;  // [compressed_tokens, kv_heads, dim]
  cuda::GradientTensor raw;             // [context_tokens, kv_heads, dim]
  int dim;
  bool fp32;  // pooled is, else it is in the launch's dtype
};

struct SpreadParams {
  Side k, v;
  const Sequence* sequences;
  std::int64_t batch, tokens;
  int kv_heads, cmp_block, cmp_stride;
};

/// The sequence of a row of K.
__device__ Sequence sequence_of_key(const SpreadParams& p, std::int64_t row) {
  std::int64_t low = 0, high = p.batch - 1;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (p.sequences[middle].kv_begin <= row) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return p.sequences[low];
}

/// kWidth numbers of a gradient in fp32 or in T, of 16 bytes in T.
template <class T, int kWidth>
__device__ void load_pooled(const Side& side, std::int64_t row, int head, int column,
                            float (&to)[kWidth]) {
  if (!side.fp32)
    return cuda::load_vector(cuda::head_row<const T>(side.pooled, row, head) + column, to);
  const auto* from = cuda::head_row<const float>(side.pooled, row, head) + column;
  constexpr int kAtATime = kWidth < 4 ? kWidth : 4;
#pragma unroll
  for (int j = 0; j < kWidth; j += kAtATime) {
    float numbers[kAtATime];
    cuda::load_vector(from + j, numbers);
#pragma unroll
    for (int i = 0; i < kAtATime; ++i) to[j + i] = numbers[i];
  }
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads) spread_kernel(const __grid_constant__ SpreadParams p) {
  const int k_pieces = p.k.dim / kWidth, v_pieces = p.v.dim / kWidth;
  const int pieces = p.kv_heads * (k_pieces + v_pieces);
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  const std::int64_t row = i / pieces;
  if (row >= p.tokens) return;
  auto piece = static_cast<int>(i - row * pieces);
  const bool of_k = piece < p.kv_heads * k_pieces;
  if (!of_k) piece -= p.kv_heads * k_pieces;
  const Side& side = of_k ? p.k : p.v;
  if (!side.raw.data) return;
  const int width = of_k ? k_pieces : v_pieces, head = piece / width;
  const int column = (piece - head * width) * kWidth;

  const Sequence s = sequence_of_key(p, row);
  const auto token = static_cast<int>(row - s.kv_begin);
  const int from_start = token - p.cmp_block + 1;  // the first compressed row that reaches it
  const int first = from_start <= 0 ? 0 : (from_start + p.cmp_stride - 1) / p.cmp_stride;
  const int last = min(token / p.cmp_stride, static_cast<int>(s.cmp_len) - 1);
  float sum[kWidth] = {};
  for (int c = first; c <= last; ++c) {
    float x[kWidth];
    load_pooled<T>(side, s.cmp_begin + c, head, column, x);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) sum[j] += x[j];
  }
  const float share = 1.0f / static_cast<float>(p.cmp_block);
#pragma unroll
  for (int j = 0; j < kWidth; ++j) sum[j] *= share;
  cuda::put_gradients<T>(side.raw, row * side.raw.row_stride + head * side.raw.head_stride + column,
                         sum);
}

Side side_of(const TensorView& pooled, const TensorView& raw, bool accumulate, std::int64_t dim) {
  Side side{};
  side.pooled = {pooled.data, pooled.stride[0], pooled.stride[1], false};
  if (raw)
    side.raw = {.data = raw.data,
                .row_stride = raw.stride[0],
                .head_stride = raw.stride[1],
                .fp32 = raw.dtype == Dtype::fp32,
                .accumulate = accumulate};
  side.dim = static_cast<int>(dim);
  side.fp32 = pooled.dtype == Dtype::fp32;
  return side;
}

void launch_spread(const LaunchArgs& args) {
  const CompressBackwardTensors t = CompressBackwardTensors::of(args);
  const Problem& problem = args.problem;
  bool aligned = true;
  for (const TensorView& view : {t.d_pooled.k, t.d_pooled.v, t.d_raw.k, t.d_raw.v}) {
    if (!view) continue;
    expects(view.rank == 3 && view.rows_contiguous(), "tensors [rows, heads, dim]");
    aligned = aligned && cuda::rows_are_vectors(view);
  }
  const auto at_once = static_cast<std::int64_t>(16 / size_of(problem.dtype));
  aligned = aligned && problem.head_dim_k % at_once == 0 && problem.head_dim_v % at_once == 0;
  const SpreadParams p{.k = side_of(t.d_pooled.k, t.d_raw.k,
                                    args.adds_to(CompressBackwardTensors::kDK), problem.head_dim_k),
                       .v = side_of(t.d_pooled.v, t.d_raw.v,
                                    args.adds_to(CompressBackwardTensors::kDV), problem.head_dim_v),
                       .sequences = args.device_sequences,
                       .batch = static_cast<std::int64_t>(args.sequences.size()),
                       .tokens = problem.total_context(),
                       .kv_heads = static_cast<int>(problem.kv_heads),
                       .cmp_block = static_cast<int>(problem.geometry.cmp_block),
                       .cmp_stride = static_cast<int>(problem.geometry.cmp_stride)};
  cuda::with_storage_type(problem.dtype, [&](auto zero) {
    using T = decltype(zero);
    cuda::with_vector_width<T>(aligned, [&](auto width) {
      const std::int64_t pieces = p.tokens * p.kv_heads * (p.k.dim + p.v.dim) / width();
      cuda::launch(spread_kernel<T, width()>, (pieces + kThreads - 1) / kThreads, kThreads, 0,
                   args.stream, p);
    });
  });
}

}  // namespace

extern constinit const LaunchFunction kCudaAvgBackward = launch_spread;

}  // namespace nsa::compress
