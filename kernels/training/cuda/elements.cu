// SiLU in both directions, and the embedding's backward pass.
#include "cuda/launch/launch.cuh"
#include "cuda/memory/alignment.hpp"
#include "cuda/ptx/vectors.cuh"
#include "training/cuda/kernels.hpp"

namespace nsa::training::cuda {
namespace {

using namespace nsa::cuda;

constexpr int kThreads = 256;

template <class T, int kWidth, bool kBackward>
__global__ void __launch_bounds__(kThreads)
    silu_kernel(const T* h, T* y, std::int64_t vectors) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= vectors) return;
  float x[kWidth], out[kWidth];
  load_vector(h + i * kWidth, x);
  if (kBackward) load_vector(y + i * kWidth, out);
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    const float sigmoid = __fdividef(1.0f, 1.0f + __expf(-x[j]));
    if constexpr (kBackward) {
      out[j] *= sigmoid * (1.0f + x[j] * (1.0f - sigmoid));
    } else {
      out[j] = x[j] * sigmoid;
    }
  }
  store_vector(y + i * kWidth, out);
}

template <bool kBackward>
void launch_silu(const TensorView& h, const TensorView& y, CUstream_st* stream) {
  expects(h.contiguous() && y.contiguous(), "contiguous tensors in a training step");
  with_storage_type(h.dtype, [&](auto zero) {
    using T = decltype(zero);
    with_vector_width<T>(rows_are_vectors(h) && rows_are_vectors(y), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const std::int64_t vectors = h.elements() / kWidth;
      launch(silu_kernel<T, kWidth, kBackward>, (vectors + kThreads - 1) / kThreads, kThreads, 0,
             stream, h.as<const T>(), y.as<T>(), vectors);
    });
  });
}

/// A block adds up a piece of the columns of one token's row: kThreads tokens are looked at
/// together, then those that are this one, in their order.
template <class T>
__global__ void __launch_bounds__(kThreads)
    embed_backward_kernel(const std::int32_t* tokens, const T* d_y, float* d_table, bool add,
                          std::int64_t rows, int dim, int column_blocks) {
  __shared__ unsigned matches[kThreads / 32];
  const int token = static_cast<int>(blockIdx.x) / column_blocks;
  const int column = static_cast<int>(blockIdx.x) % column_blocks * kThreads +
                     static_cast<int>(threadIdx.x);
  float sum = 0;
  for (std::int64_t first = 0; first < rows; first += kThreads) {
    const std::int64_t r = first + threadIdx.x;
    const unsigned mask = __ballot_sync(0xffffffffu, r < rows && tokens[r] == token);
    __syncthreads();
    if (threadIdx.x % 32 == 0) matches[threadIdx.x / 32] = mask;
    __syncthreads();
    for (int word = 0; word < kThreads / 32; ++word) {
      for (unsigned left = matches[word]; left != 0; left &= left - 1) {
        const std::int64_t row = first + word * 32 + __ffs(static_cast<int>(left)) - 1;
        if (column < dim) sum += to_float(d_y[row * dim + column]);
      }
    }
  }
  if (column >= dim) return;
  float* to = d_table + std::int64_t{token} * dim + column;
  *to = add ? *to + sum : sum;
}

}  // namespace

void silu(const TensorView& h, const TensorView& y, CUstream_st* stream) {
  launch_silu<false>(h, y, stream);
}

void silu_backward(const TensorView& h, const TensorView& d, CUstream_st* stream) {
  launch_silu<true>(h, d, stream);
}

void embed_backward(const TensorView& tokens, const TensorView& d_y, const Gradient& d_table,
                    CUstream_st* stream) {
  expects(d_table.to.dtype == Dtype::fp32 && d_y.contiguous() && tokens.contiguous(),
          "an fp32 gradient of the embedding, contiguous rows");
  const int dim = static_cast<int>(d_y.shape[1]);
  const int column_blocks = (dim + kThreads - 1) / kThreads;
  with_storage_type(d_y.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(embed_backward_kernel<T>, d_table.to.shape[0] * column_blocks, kThreads, 0, stream,
           tokens.as<const std::int32_t>(), d_y.as<const T>(), d_table.to.as<float>(), d_table.add,
           d_y.shape[0], dim, column_blocks);
  });
}

}  // namespace nsa::training::cuda
