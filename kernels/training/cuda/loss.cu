// Cross-entropy: a block per row of logits.
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/vectors.cuh"
#include "training/cuda/kernels.hpp"

namespace nsa::training::cuda {
namespace {

using namespace nsa::cuda;

constexpr int kThreads = 128;

/// The same for all threads of the block. `scratch` [kThreads / 32].
template <class Combine>
__device__ float block_reduce(float value, float* scratch, const Combine& combine) {
  for (int offset = 16; offset > 0; offset /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[0];
  for (int i = 1; i < kThreads / 32; ++i) value = combine(value, scratch[i]);
  return value;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_kernel(const float* logits, const std::int32_t* targets, float scale, T* d_logits,
                         float* losses, int vocab) {
  __shared__ float scratch[kThreads / 32];
  const std::int64_t r = blockIdx.x;
  const float* row = logits + r * vocab;
  T* to = d_logits + r * vocab;
  const int target = targets[r];
  if (target < 0 || target >= vocab) {
    for (int i = static_cast<int>(threadIdx.x); i < vocab; i += kThreads) to[i] = from_float<T>(0);
    if (threadIdx.x == 0) losses[r] = 0;
    return;
  }
  float largest = -INFINITY, sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < vocab; i += kThreads)
    largest = fmaxf(largest, row[i]);
  largest = block_reduce(largest, scratch, [](float a, float b) { return fmaxf(a, b); });
  for (int i = static_cast<int>(threadIdx.x); i < vocab; i += kThreads)
    sum += expf(row[i] - largest);
  sum = block_reduce(sum, scratch, [](float a, float b) { return a + b; });
  const float lse = largest + logf(sum);
  for (int i = static_cast<int>(threadIdx.x); i < vocab; i += kThreads) {
    const float p = expf(row[i] - lse);
    to[i] = from_float<T>(scale * (i == target ? p - 1.0f : p));
  }
  if (threadIdx.x == 0) losses[r] = lse - row[target];  // NaN where any logit is: the sum is
}

__global__ void __launch_bounds__(1024)
    add_losses_kernel(const float* losses, std::int64_t count, double scale, StepScalars* scalars) {
  __shared__ double sums[1024];
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += 1024) sum += losses[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = 512; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) scalars->loss += scale * sums[0];
}

}  // namespace

void cross_entropy(const TensorView& logits, const TensorView& targets, double scale,
                   const TensorView& d_logits, float* losses, CUstream_st* stream) {
  with_storage_type(d_logits.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(cross_entropy_kernel<T>, logits.shape[0], kThreads, 0, stream, logits.as<const float>(),
           targets.as<const std::int32_t>(), static_cast<float>(scale), d_logits.as<T>(), losses,
           static_cast<int>(logits.shape[1]));
  });
}

void add_losses(const float* losses, std::int64_t count, double scale, StepScalars* scalars,
                CUstream_st* stream) {
  launch(add_losses_kernel, 1, 1024, 0, stream, losses, count, scale, scalars);
}

}  // namespace nsa::training::cuda
