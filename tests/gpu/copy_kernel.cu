#include "kernels.hpp"

#include <cuda_runtime.h>

#include "nsa/schemas/cuda_error.hpp"

namespace nsa::test {
namespace {

__global__ void copy_kernel(uint4* to, const uint4* from, std::size_t n) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    to[i] = from[i];
}

}  // namespace

void launch_copy(void* to, const void* from, std::size_t bytes, CUstream_st* stream) {
  constexpr unsigned kBlocks = 1024, kThreads = 512;
  copy_kernel<<<kBlocks, kThreads, 0, stream>>>(
      static_cast<uint4*>(to), static_cast<const uint4*>(from), bytes / sizeof(uint4));
  NSA_CUDA(cudaGetLastError());
}

}  // namespace nsa::test
