// Programmatic dependent launch (CUDA C++ Programming Guide): a kernel takes its place on the chip
// while the one before it in the stream ends, and waits for that end by itself.
#pragma once

#include "cuda/launch.cuh"

namespace nsa::cuda {

/// On the device: the next kernel of the stream may take its place on the chip.
__device__ inline void let_next_kernel_start() {
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
}
/// On the device: waits until the kernel before this one has ended; what it wrote is seen.
__device__ inline void wait_for_kernel_before() {
  asm volatile("griddepcontrol.wait;\n" ::: "memory");
}

/// Enqueues a kernel that calls wait_for_kernel_before() before it reads what others wrote.
template <class Params>
void launch_behind(void (*kernel)(Params), std::int64_t blocks, int threads,
                   std::size_t shared_bytes, cudaStream_t stream, const Params& p) {
  if (shared_bytes > kPlainSharedBytes) {
    NSA_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shared_bytes)));
  }
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  NSA_CUDA(cudaLaunchKernelEx(&config, kernel, p));
}

}  // namespace nsa::cuda
