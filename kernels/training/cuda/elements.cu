// SiLU in both directions, and the embedding's backward pass.
#include "cuda/launch/programmatic_launch.cuh"
#include "cuda/memory/alignment.hpp"
#include "cuda/ptx/vectors.cuh"
#include "training/cuda/kernels.hpp"

namespace nsa::training::cuda {
namespace {

using namespace nsa::cuda;

constexpr int kThreads = 256;

template <class T>
struct Silu {
  const T* h;
  T *y, *d;
  std::int64_t vectors;
};

/// y = silu(h); with kBackward also d = d * silu'(h).
template <class T, int kWidth, bool kBackward>
__global__ void __launch_bounds__(kThreads) silu_kernel(const __grid_constant__ Silu<T> p) {
  griddep_wait();
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= p.vectors) return;
  float x[kWidth], y[kWidth], d[kWidth];
  load_vector(p.h + i * kWidth, x);
  if constexpr (kBackward) load_vector(p.d + i * kWidth, d);
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    const float sigmoid = 1.0f / (1.0f + expf(-x[j]));
    y[j] = x[j] * sigmoid;
    if constexpr (kBackward) d[j] *= sigmoid * (1.0f + x[j] * (1.0f - sigmoid));
  }
  store_vector(p.y + i * kWidth, y);
  if constexpr (kBackward) store_vector(p.d + i * kWidth, d);
}

template <bool kBackward>
void launch_silu(const TensorView& h, const TensorView& y, const TensorView& d,
                 CUstream_st* stream) {
  bool aligned = true;
  for (const TensorView& x : {h, y, d}) {
    expects(x.contiguous(), "contiguous tensors in a training step");
    aligned = aligned && (!x || rows_are_vectors(x));
  }
  with_storage_type(h.dtype, [&](auto zero) {
    using T = decltype(zero);
    with_vector_width<T>(aligned, [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const std::int64_t vectors = h.elements() / kWidth;
      launch_pdl_if_hopper(silu_kernel<T, kWidth, kBackward>, (vectors + kThreads - 1) / kThreads,
                           kThreads, 0, stream,
                           Silu<T>{h.as<const T>(), y.as<T>(), d.as<T>(), vectors});
    });
  });
}

/// Of `rows` that the threads of a block look at, those that match, in their order; how many.
__device__ int list_matches(bool matches, std::int64_t row, std::int64_t* list, int* of_warps) {
  const unsigned mask = __ballot_sync(0xffffffffu, matches);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) of_warps[warp] = __popc(mask);
  __syncthreads();
  int before = 0, all = 0;
  for (unsigned i = 0; i < kThreads / 32; ++i) {
    before += i < warp ? of_warps[i] : 0;
    all += of_warps[i];
  }
  if (matches) list[before + __popc(mask & ((1u << lane) - 1u))] = row;
  __syncthreads();
  return all;
}

/// A block adds up a piece of the columns of one token's row: kThreads tokens are looked at
/// together, then those that are this one, in their order.
template <class T>
__global__ void __launch_bounds__(kThreads)
    embed_backward_kernel(const std::int32_t* tokens, const T* d_y, float* d_table, bool add,
                          std::int64_t rows, int dim, int column_blocks) {
  __shared__ std::int64_t list[kThreads];
  __shared__ int of_warps[kThreads / 32];
  const int token = static_cast<int>(blockIdx.x) / column_blocks;
  const int column =
      static_cast<int>(blockIdx.x) % column_blocks * kThreads + static_cast<int>(threadIdx.x);
  float sum = 0;
  for (std::int64_t first = 0; first < rows; first += kThreads) {
    const std::int64_t r = first + threadIdx.x;
    const int count = list_matches(r < rows && tokens[r] == token, r, list, of_warps);
#pragma unroll 8
    for (int i = 0; i < (column < dim ? count : 0); ++i)
      sum += to_float(d_y[list[i] * dim + column]);
    __syncthreads();  // before the list is written again
  }
  if (column >= dim) return;
  float* to = d_table + std::int64_t{token} * dim + column;
  *to = add ? *to + sum : sum;
}

}  // namespace

void silu(const TensorView& h, const TensorView& y, CUstream_st* stream) {
  launch_silu<false>(h, y, {}, stream);
}

void silu_backward(const TensorView& h, const TensorView& y, const TensorView& d,
                   CUstream_st* stream) {
  launch_silu<true>(h, y, d, stream);
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
