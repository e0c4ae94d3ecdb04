// What the checks of rows share: numbers of any type as fp64, poison, and a sum over a thread
// block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/ptx/numbers.cuh"

namespace nsa::cuda::oracle {

/// Threads of a block that checks a row.
inline constexpr int kThreads = 128;

__device__ inline double as_double(double x) { return x; }
__device__ inline double as_double(float x) { return x; }
__device__ inline double as_double(std::int32_t x) { return x; }
__device__ inline double as_double(__nv_bfloat16 x) {
  return static_cast<double>(__bfloat162float(x));
}
__device__ inline double as_double(__half x) { return static_cast<double>(__half2float(x)); }

/// Whether all bytes of a number are those that outputs are filled with before a launch.
template <class T>
__device__ bool holds(const T& x, unsigned char poison) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&x);
  for (std::size_t i = 0; i < sizeof(T); ++i)
    if (bytes[i] != poison) return false;
  return true;
}

/// Sum over the block, the same for all threads. Called by all of them.
__device__ inline double block_sum(double value, double* shared) {
  __syncthreads();  // the sum before has been read
  shared[threadIdx.x] = value;
  __syncthreads();
  double sum = 0;
  for (int i = 0; i < kThreads; ++i) sum += shared[i];
  return sum;
}

}  // namespace nsa::cuda::oracle
