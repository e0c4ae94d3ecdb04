// phi "avg" on a GPU (docs/nsa.md 3): four lanes share the l rows of 16 bytes of K or of V, so that
// many loads are under way, and add up in fp32.
#include <algorithm>
#include <type_traits>

#include "cuda/launch/launch.cuh"
#include "cuda/memory/alignment.hpp"
#include "cuda/ptx/vectors.cuh"
#include "operands/select.hpp"

namespace nsa::compress {
namespace {

constexpr int kThreads = 128;
constexpr int kLanes = 4;                   // that share a piece
constexpr int kPieces = kThreads / kLanes;  // of a block; neighbours in memory are in one warp

/// K or V.
struct Side {
  const void* raw;  // [context_tokens, kv_heads, dim]
  std::int64_t raw_row_stride, raw_head_stride;
  void* pooled;  // [compressed_tokens, kv_heads, dim]
  std::int64_t pooled_row_stride, pooled_head_stride;
  int dim;
};

struct PoolParams {
  Side k, v;
  const Sequence* sequences;
  int blocks_per_sequence, kv_heads, cmp_block, cmp_stride;
};

template <class T, int kWidth>
__device__ void pool(const Side& side, std::int64_t first, std::int64_t row, int head, int column,
                     int count, int lane) {
  const T* raw = static_cast<const T*>(side.raw) + first * side.raw_row_stride +
                 head * side.raw_head_stride + column;
  float sum[kWidth] = {};
#pragma unroll 8
  for (int i = lane; i < count; i += kLanes) {
    float numbers[kWidth];
    cuda::load_vector(raw + i * side.raw_row_stride, numbers);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) sum[j] += numbers[j];
  }
  const float share = 1.0f / static_cast<float>(count);
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    for (int other = 16; other > 16 / kLanes; other /= 2)
      sum[j] += __shfl_xor_sync(0xffffffffu, sum[j], other);
    sum[j] *= share;
  }
  if (lane > 0) return;
  cuda::store_vector(static_cast<T*>(side.pooled) + row * side.pooled_row_stride +
                         head * side.pooled_head_stride + column,
                     sum);
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads) pool_kernel(PoolParams p) {
  const Sequence s = p.sequences[blockIdx.x / static_cast<unsigned>(p.blocks_per_sequence)];
  const int k_pieces = p.k.dim / kWidth, v_pieces = p.v.dim / kWidth;
  const int pieces = p.kv_heads * (k_pieces + v_pieces);
  const unsigned block = blockIdx.x % static_cast<unsigned>(p.blocks_per_sequence);
  // The lanes that share a piece are 32 / kLanes apart: those beside each other read neighbours.
  constexpr int kBeside = 32 / kLanes;
  const int in_warp = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = in_warp / kBeside;
  const int wanted = static_cast<int>(block) * kPieces + warp * kBeside + in_warp % kBeside;
  const int last =
      static_cast<int>(s.cmp_len) * pieces - 1;  // lanes without a piece repeat the last one
  if (last < 0) return;
  const int i = wanted < last ? wanted : last, c = i / pieces;  // 64-bit divisions are slow
  const std::int64_t first = s.kv_begin + std::int64_t{c} * p.cmp_stride, row = s.cmp_begin + c;
  int piece = i - c * pieces;
  const bool k = piece < p.kv_heads * k_pieces;
  if (!k) piece -= p.kv_heads * k_pieces;
  const int width = k ? k_pieces : v_pieces;
  pool<T, kWidth>(k ? p.k : p.v, first, row, piece / width, piece % width * kWidth, p.cmp_block,
                  lane);
}

Side side_of(const TensorView& raw, const TensorView& pooled) {
  return {.raw = raw.data,
          .raw_row_stride = raw.stride[0],
          .raw_head_stride = raw.stride[1],
          .pooled = pooled.data,
          .pooled_row_stride = pooled.stride[0],
          .pooled_head_stride = pooled.stride[1],
          .dim = static_cast<int>(raw.shape[2])};
}

template <class T, int kWidth>
void launch_pool(const LaunchArgs& args) {
  const Problem& problem = args.problem;
  std::int64_t longest = 0;
  for (const Sequence& s : args.sequences) longest = std::max(longest, s.cmp_len);
  const std::int64_t pieces = problem.kv_heads * (problem.head_dim_k + problem.head_dim_v) / kWidth;
  expects(longest * pieces + kPieces <= 0x7fffffff, "compressed rows that one launch holds");
  const std::int64_t blocks = (longest * pieces + kPieces - 1) / kPieces;
  const CompressTensors tensors = CompressTensors::of(args);
  const PoolParams params{.k = side_of(tensors.raw.k, tensors.pooled.k),
                          .v = side_of(tensors.raw.v, tensors.pooled.v),
                          .sequences = args.device_sequences,
                          .blocks_per_sequence = static_cast<int>(blocks),
                          .kv_heads = static_cast<int>(problem.kv_heads),
                          .cmp_block = static_cast<int>(problem.geometry.cmp_block),
                          .cmp_stride = static_cast<int>(problem.geometry.cmp_stride)};
  cuda::launch(pool_kernel<T, kWidth>, blocks * static_cast<std::int64_t>(args.sequences.size()),
               kThreads, 0, args.stream, params);
}

void launch_avg(const LaunchArgs& args) {
  bool aligned = true;
  for (const auto& tensors : {args.in, args.out}) {
    for (const TensorView& tensor : tensors) {
      expects(tensor.rank == 3 && tensor.rows_contiguous(), "tensors [rows, heads, dim]");
      aligned = aligned && cuda::rows_are_vectors(tensor);
    }
  }
  cuda::with_storage_type(args.problem.dtype, [&](auto zero) {
    using T = decltype(zero);
    cuda::with_vector_width<T>(aligned, [&](auto width) { launch_pool<T, width()>(args); });
  });
}

}  // namespace

extern constinit const LaunchFunction kCudaAvg = launch_avg;

}  // namespace nsa::compress
