#include "vendor/math/d_softmax.hpp"

#include "cuda/launch/launch.cuh"
#include "cuda/ptx/numbers.cuh"

namespace nsa::vendor {
namespace {

constexpr int kThreads = 256;

/// One block per row. A weight of 0 has no gradient, so nobody asks which keys the query sees.
template <class T>
__global__ void __launch_bounds__(kThreads) d_softmax_kernel(LogitTile tile, const float* room) {
  __shared__ float2 of_warp[kThreads / 32];
  const int row = static_cast<int>(blockIdx.x) % tile.rows;
  const int head = static_cast<int>(blockIdx.x) / tile.rows;
  const std::int64_t begin = head * tile.head_stride + row * tile.row_stride;
  float* gradients = tile.data + begin;
  const T* weights = reinterpret_cast<const T*>(room + begin);
  const int thread = static_cast<int>(threadIdx.x);
  // Rounded weights do not sum to 1. Divided by their sum, what is taken off is a mean of the
  // gradients, so that a part which all keys share cancels, as it does in exact arithmetic.
  float2 sums = {0, 0};  // of weights times gradients, and of weights
  for (int i = thread; i < tile.keys; i += kThreads) {
    const float weight = cuda::to_float(weights[i]);
    sums = {fmaf(weight, gradients[i], sums.x), sums.y + weight};
  }
  for (int step = 16; step > 0; step /= 2) {
    sums.x += __shfl_xor_sync(~0u, sums.x, step);
    sums.y += __shfl_xor_sync(~0u, sums.y, step);
  }
  if (thread % 32 == 0) of_warp[thread / 32] = sums;
  __syncthreads();
  sums = {0, 0};
  for (const float2& part : of_warp) sums = {sums.x + part.x, sums.y + part.y};
  const float mean = sums.y > 0 ? sums.x / sums.y : 0;  // no weight: the row sees no key
  T* to = reinterpret_cast<T*>(gradients);
  // A number is not wider than what it replaces, so chunk by chunk nothing is overwritten that was
  // not read.
  for (int first = 0; first < tile.keys; first += kThreads) {
    const int i = first + thread;
    const float x = i < tile.keys ? cuda::to_float(weights[i]) * (gradients[i] - mean) : 0;
    __syncthreads();
    if (i < tile.keys) to[i] = cuda::from_float<T>(x);
  }
}

}  // namespace

void d_softmax_in_place(const LogitTile& tile, const float* weights, Dtype dtype,
                        CUstream_st* stream) {
  cuda::with_storage_type(dtype, [&](auto zero) {
    cuda::launch(d_softmax_kernel<decltype(zero)>, std::int64_t{tile.heads} * tile.rows, kThreads,
                 0, stream, tile, weights);
  });
}

}  // namespace nsa::vendor
