#include "vendor/math/d_softmax.hpp"

#include "cuda/launch/launch.cuh"
#include "cuda/ptx/numbers.cuh"

namespace nsa::vendor {
namespace {

constexpr int kThreads = 256;

/// One block per row. A weight of 0 has no gradient, so nobody asks which keys the query sees.
template <class T>
__global__ void __launch_bounds__(kThreads) d_softmax_kernel(LogitTile tile, const float* room) {
  __shared__ float of_warp[kThreads / 32];
  const int row = static_cast<int>(blockIdx.x) % tile.rows;
  const int head = static_cast<int>(blockIdx.x) / tile.rows;
  const std::int64_t begin = head * tile.head_stride + row * tile.row_stride;
  float* gradients = tile.data + begin;
  const T* weights = reinterpret_cast<const T*>(room + begin);
  const int thread = static_cast<int>(threadIdx.x);
  float sum = 0;
  for (int i = thread; i < tile.keys; i += kThreads)
    sum = fmaf(cuda::to_float(weights[i]), gradients[i], sum);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (thread % 32 == 0) of_warp[thread / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < kThreads / 32; ++w) sum += of_warp[w];
  T* to = reinterpret_cast<T*>(gradients);
  // A number is not wider than what it replaces, so chunk by chunk nothing is overwritten that was
  // not read.
  for (int first = 0; first < tile.keys; first += kThreads) {
    const int i = first + thread;
    const float x = i < tile.keys ? cuda::to_float(weights[i]) * (gradients[i] - sum) : 0;
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
