// Residual and norm, and the norm's backward pass: a warp per row for x, then sums over rows for
// the weight, in an order that does not depend on the device. At short lengths launches are what
// counts: each kernel takes its place while the one before it ends.
#include "cuda/launch/programmatic_launch.cuh"
#include "cuda/memory/alignment.hpp"
#include "cuda/ptx/vectors.cuh"
#include "training/cuda/kernels.hpp"

namespace nsa::training::cuda {
namespace {

using namespace nsa::cuda;

constexpr int kThreads = 256;
constexpr int kRowsPerBlock = kThreads / 32;
constexpr float kNormEpsilon = 1e-6f;
constexpr int kSumColumns = 32, kSumLanes = 8;  // of a block that sums over rows

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

template <class T>
struct AddNorm {
  const T *x, *delta, *weight;
  T *sum, *y;
  std::int64_t rows;
  int dim;
};

/// sum = x + delta, rounded; y = its norm, where there is a y. [rows, dim], rows one after
/// another.
template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads) add_norm_kernel(const __grid_constant__ AddNorm<T> p) {
  griddep_wait();
  const auto& [x, delta, weight, sum, y, rows, dim] = p;
  const std::int64_t r = blockIdx.x * std::int64_t{kRowsPerBlock} + threadIdx.x / 32;
  if (r >= rows) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float squares = 0;
  for (int c = lane * kWidth; c < dim; c += 32 * kWidth) {
    float a[kWidth], b[kWidth];
    load_vector(x + r * dim + c, a);
    load_vector(delta + r * dim + c, b);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      a[j] = to_float(from_float<T>(a[j] + b[j]));
      squares += a[j] * a[j];
    }
    store_vector(sum + r * dim + c, a);
  }
  if (!y) return;
  const float inverse = rsqrtf(warp_sum(squares) / static_cast<float>(dim) + kNormEpsilon);
  for (int c = lane * kWidth; c < dim; c += 32 * kWidth) {  // what this lane wrote
    float a[kWidth], scale[kWidth];
    load_vector(sum + r * dim + c, a);
    load_vector(weight + c, scale);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) a[j] *= inverse * scale[j];
    store_vector(y + r * dim + c, a);
  }
}

template <class T>
struct NormBackward {
  const T *x, *weight, *d_y;
  T* d_x;
  bool add;
  float* inverses;
  std::int64_t rows;
  int dim;
};

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    norm_backward_kernel(const __grid_constant__ NormBackward<T> p) {
  griddep_wait();
  const auto& [x, weight, d_y, d_x, add, inverses, rows, dim] = p;
  const std::int64_t r = blockIdx.x * std::int64_t{kRowsPerBlock} + threadIdx.x / 32;
  if (r >= rows) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float squares = 0, along = 0;
  for (int c = lane * kWidth; c < dim; c += 32 * kWidth) {
    float a[kWidth], g[kWidth], scale[kWidth];
    load_vector(x + r * dim + c, a);
    load_vector(d_y + r * dim + c, g);
    load_vector(weight + c, scale);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      squares += a[j] * a[j];
      along += g[j] * scale[j] * a[j];
    }
  }
  const float n = static_cast<float>(dim);
  const float inverse = rsqrtf(warp_sum(squares) / n + kNormEpsilon);
  const float back = inverse * inverse * warp_sum(along) / n;
  if (lane == 0) inverses[r] = inverse;
  for (int c = lane * kWidth; c < dim; c += 32 * kWidth) {
    float a[kWidth], g[kWidth], scale[kWidth], old[kWidth];
    load_vector(x + r * dim + c, a);
    load_vector(d_y + r * dim + c, g);
    load_vector(weight + c, scale);
    if (add) load_vector(d_x + r * dim + c, old);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      g[j] = inverse * (scale[j] * g[j] - a[j] * back);
      if (add) g[j] += old[j];
    }
    store_vector(d_x + r * dim + c, g);
  }
}

template <class T>
struct WeightSums {
  const T *x, *d_y;
  const float* inverses;
  float* sums;
  std::int64_t rows;
  int dim, column_blocks;
};

/// sums[piece, c] = sum over the piece's rows of d_y x inverse.
template <class T>
__global__ void __launch_bounds__(kSumColumns* kSumLanes)
    weight_sums_kernel(const __grid_constant__ WeightSums<T> p) {
  griddep_wait();
  const auto& [x, d_y, inverses, sums, rows, dim, column_blocks] = p;
  __shared__ float part[kSumLanes][kSumColumns];
  const int column = static_cast<int>(blockIdx.x) % column_blocks * kSumColumns +
                     static_cast<int>(threadIdx.x) % kSumColumns;
  const std::int64_t piece = blockIdx.x / static_cast<unsigned>(column_blocks);
  const int lane = static_cast<int>(threadIdx.x) / kSumColumns;
  const std::int64_t begin = piece * kRowsPerSum;
  const std::int64_t end = begin + kRowsPerSum < rows ? begin + kRowsPerSum : rows;
  float sum = 0;
#pragma unroll 8
  for (std::int64_t r = begin + lane; r < (column < dim ? end : begin); r += kSumLanes)
    sum += to_float(d_y[r * dim + column]) * to_float(x[r * dim + column]) * inverses[r];
  part[lane][threadIdx.x % kSumColumns] = sum;
  __syncthreads();
  if (lane != 0 || column >= dim) return;
  for (int i = 1; i < kSumLanes; ++i) sum += part[i][threadIdx.x % kSumColumns];
  sums[piece * dim + column] = sum;
}

struct SumPieces {
  const float* sums;
  std::int64_t pieces;
  float* d_weight;
  bool add;
  int dim;
};

__global__ void __launch_bounds__(kSumColumns* kSumLanes)
    sum_pieces_kernel(const __grid_constant__ SumPieces p) {
  griddep_wait();
  const auto& [sums, pieces, d_weight, add, dim] = p;
  __shared__ float part[kSumLanes][kSumColumns];
  const int column =
      static_cast<int>(blockIdx.x) * kSumColumns + static_cast<int>(threadIdx.x) % kSumColumns;
  const int lane = static_cast<int>(threadIdx.x) / kSumColumns;
  float sum = 0;
#pragma unroll 4
  for (std::int64_t i = lane; i < (column < dim ? pieces : 0); i += kSumLanes)
    sum += sums[i * dim + column];
  part[lane][threadIdx.x % kSumColumns] = sum;
  __syncthreads();
  if (lane != 0 || column >= dim) return;
  for (int i = 1; i < kSumLanes; ++i) sum += part[i][threadIdx.x % kSumColumns];
  d_weight[column] = add ? d_weight[column] + sum : sum;
}

std::int64_t blocks_of(std::int64_t items, std::int64_t each) { return (items + each - 1) / each; }

/// f(zero of the storage type, width) for contiguous tensors of one dtype.
template <class F>
void with_types(std::initializer_list<TensorView> tensors, F f) {
  bool aligned = true;
  const Dtype dtype = tensors.begin()->dtype;
  for (const TensorView& x : tensors) {
    expects(!x || (x.contiguous() && x.dtype == dtype),
            "contiguous tensors of one dtype in a training step");
    aligned = aligned && (!x || rows_are_vectors(x));
  }
  with_storage_type(dtype, [&](auto zero) {
    with_vector_width<decltype(zero)>(aligned, [&](auto width) { f(zero, width); });
  });
}

}  // namespace

void add_norm(const TensorView& x, const TensorView& delta, const TensorView& weight,
              const TensorView& sum, const TensorView& y, CUstream_st* stream) {
  with_types({x, delta, weight, sum, y}, [&](auto zero, auto width) {
    using T = decltype(zero);
    const AddNorm<T> p{.x = x.as<const T>(),
                       .delta = delta.as<const T>(),
                       .weight = weight.as<const T>(),
                       .sum = sum.as<T>(),
                       .y = y.as<T>(),
                       .rows = x.shape[0],
                       .dim = static_cast<int>(x.shape[1])};
    launch_pdl_if_hopper(add_norm_kernel<T, decltype(width)::value>,
                         blocks_of(p.rows, kRowsPerBlock), kThreads, 0, stream, p);
  });
}

void rms_norm_backward(const TensorView& x, const TensorView& weight, const TensorView& d_y,
                       const Gradient& d_x, const Gradient& d_weight, float* inverse, float* sums,
                       CUstream_st* stream) {
  expects(d_weight.to.dtype == Dtype::fp32, "an fp32 gradient of a weight");
  const std::int64_t rows = x.shape[0], pieces = blocks_of(rows, kRowsPerSum);
  const int dim = static_cast<int>(x.shape[1]);
  const int column_blocks = (dim + kSumColumns - 1) / kSumColumns;
  with_types({x, weight, d_y, d_x.to}, [&](auto zero, auto width) {
    using T = decltype(zero);
    launch_pdl_if_hopper(norm_backward_kernel<T, decltype(width)::value>,
                         blocks_of(rows, kRowsPerBlock), kThreads, 0, stream,
                         NormBackward<T>{.x = x.as<const T>(),
                                         .weight = weight.as<const T>(),
                                         .d_y = d_y.as<const T>(),
                                         .d_x = d_x.to.as<T>(),
                                         .add = d_x.add,
                                         .inverses = inverse,
                                         .rows = rows,
                                         .dim = dim});
    launch_pdl_if_hopper(weight_sums_kernel<T>, pieces * column_blocks, kSumColumns * kSumLanes, 0,
                         stream,
                         WeightSums<T>{.x = x.as<const T>(),
                                       .d_y = d_y.as<const T>(),
                                       .inverses = inverse,
                                       .sums = sums,
                                       .rows = rows,
                                       .dim = dim,
                                       .column_blocks = column_blocks});
  });
  launch_pdl_if_hopper(sum_pieces_kernel, column_blocks, kSumColumns * kSumLanes, 0, stream,
                       SumPieces{.sums = sums,
                                 .pieces = pieces,
                                 .d_weight = d_weight.to.as<float>(),
                                 .add = d_weight.add,
                                 .dim = dim});
}

}  // namespace nsa::training::cuda
