// One way to launch a kernel: checks the launch, asks for more shared memory where it is needed.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cuda/memory/shared_memory.hpp"
#include "nsa/schemas/cuda_error.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cuda {

/// The shared memory that a launch asked for, aligned to 16 bytes.
__device__ inline unsigned char* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char nsa_dynamic_shared[];
  return nsa_dynamic_shared;
}

/// Enqueues `kernel` with `blocks` blocks of `threads` threads. Nothing is enqueued for 0 blocks.
template <class... Params, class... Args>
void launch(void (*kernel)(Params...), std::int64_t blocks, int threads, std::size_t shared_bytes,
            cudaStream_t stream, const Args&... args) {
  expects(blocks >= 0 && blocks <= 0x7fffffff, "a grid of 2^31 - 1 blocks or less");
  if (blocks == 0) return;
  allow_shared_bytes(reinterpret_cast<const void*>(kernel), shared_bytes);
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared_bytes, stream>>>(
      args...);
  NSA_CUDA(cudaGetLastError());
}

}  // namespace nsa::cuda
