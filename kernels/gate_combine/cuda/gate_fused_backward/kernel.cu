// The backward pass of the gate (docs/nsa.md 8) as one kernel, and the sum of what its blocks know
// of the weights. A block makes the gates of its rows again, which takes less than to read them
// with what they were made from.
#include "gate_combine/cuda/gate_fused_backward/row.cuh"
#include "gate_combine/cuda/gate_fused_backward/weights.cuh"

namespace nsa::gate_combine {
namespace {

constexpr int kBlocksPerSm = 2;
constexpr int kSumNumbers = 32, kSumLanes = 16;  // of a block that sums copies

template <class T, int kWidth, int kDk, bool kStats>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    gate_backward_kernel(const __grid_constant__ GateBackwardParams p) {
  cuda::griddep_wait();
  const Tile<kDk> tile(p, cuda::dynamic_shared());
  const Place place;
  WeightSums<kDk> sums(p.sums + blockIdx.x * gate_gradient_numbers(p.dk, p.hidden));
  load_weights<T>(p, tile);
  __syncthreads();
  for (std::int64_t first = blockIdx.x * std::int64_t{kRows}; first < p.rows;
       first += gridDim.x * std::int64_t{kRows}) {
    Pieces<T, kWidth, kPiecesAtOnce<kDk>, kStats> pieces;
    pieces.load(p, place, first + place.row);
    make_means<T, kWidth>(p, tile, place, first);
    __syncwarp();
    make_units(tile, place);
    __syncwarp();
    row_gradients<T, kWidth>(p, tile, place, first, pieces);
    __syncwarp();
    query_gradients<T, kWidth>(p, tile, place, first);
    __syncthreads();
    sums.add(tile);
    __syncthreads();
  }
  sums.write();
}

/// Number i of the weights' gradients to its place, rounded once.
template <class T>
__device__ void put_weight(const GateBackwardParams& p, int i, float sum) {
  const int counts[4] = {p.hidden * p.dk, p.hidden, 3 * p.hidden, 3};
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if (i >= 0 && i < counts[w] && p.d_weights[w].data) {
      const WeightGradient& to = p.d_weights[w];
      const int row = i / to.columns;
      cuda::put_gradient<T>({.data = to.data, .fp32 = to.fp32, .accumulate = to.accumulate},
                            row * to.row_stride + i - row * to.columns, sum);
    }
    i -= counts[w];
  }
}

/// kSumLanes threads per number, each with every kSumLanes-th copy; then their sums in order.
template <class T>
__global__ void __launch_bounds__(kSumNumbers* kSumLanes)
    sum_weights_kernel(const __grid_constant__ GateBackwardParams p) {
  cuda::griddep_wait();
  __shared__ float part[kSumLanes][kSumNumbers];
  const auto numbers = static_cast<int>(gate_gradient_numbers(p.dk, p.hidden));
  const int lane = static_cast<int>(threadIdx.x) / kSumNumbers;
  const int column = static_cast<int>(threadIdx.x) % kSumNumbers;
  const int i = static_cast<int>(blockIdx.x) * kSumNumbers + column;
  float sum = 0;
#pragma unroll 9
  for (int c = lane; c < (i < numbers ? p.blocks : 0); c += kSumLanes)
    sum += p.sums[std::int64_t{c} * numbers + i];
  part[lane][column] = sum;
  __syncthreads();
  if (lane != 0 || i >= numbers) return;
  for (int l = 1; l < kSumLanes; ++l) sum += part[l][column];
  put_weight<T>(p, i, sum);
}

/// f(columns of a key as a constant, or 0).
template <class F>
void with_known_columns(const GateBackwardParams& p, F f) {
  if (p.dk == 64 && p.hidden == 32) return f(std::integral_constant<int, 64>{});
  if (p.dk == 128 && p.hidden == 64) return f(std::integral_constant<int, 128>{});
  f(std::integral_constant<int, 0>{});
}

/// f(whether row statistics are made, as a constant): their registers would cost the others 12 %.
template <class F>
void with_stats(const GateBackwardParams& p, F f) {
  if (p.makes_row_stats()) return f(std::true_type{});
  f(std::false_type{});
}

}  // namespace

void gate_backward(GateBackwardParams p, Dtype dtype, bool vectors, CUstream_st* stream) {
  const std::int64_t tiles = (p.rows + kRows - 1) / kRows;
  p.blocks = static_cast<int>(tiles < kBackwardBlocks ? tiles : kBackwardBlocks);
  const auto shared = static_cast<std::size_t>(gate_backward_floats(p.dk, p.hidden)) * 4;
  const std::int64_t numbers = gate_gradient_numbers(p.dk, p.hidden);
  cuda::with_storage_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    cuda::with_vector_width<T>(vectors, [&](auto width) {
      with_known_columns(p, [&](auto dk) {
        with_stats(p, [&](auto stats) {
          cuda::launch_pdl_if_hopper(
              gate_backward_kernel<T, decltype(width)::value, decltype(dk)::value,
                                   decltype(stats)::value>,
              p.blocks, kThreads, shared, stream, p);
        });
      });
    });
    cuda::launch_pdl_if_hopper(sum_weights_kernel<T>, (numbers + kSumNumbers - 1) / kSumNumbers,
                               kSumNumbers * kSumLanes, 0, stream, p);
  });
}

}  // namespace nsa::gate_combine
