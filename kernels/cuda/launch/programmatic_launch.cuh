// Programmatic dependent launch (CUDA C++ Programming Guide): a kernel takes its place on the chip
// while the one before it in the stream ends, and waits for that end by itself.
#pragma once

#include <nv/target>

#include "cuda/launch/launch.cuh"
#include "cuda/ptx/sm90_device.hpp"

namespace nsa::cuda {

/// On the device: the next kernel of the stream may take its place on the chip.
__device__ inline void griddep_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
}
/// On the device: waits until the kernel before this one has ended; what it wrote is seen. Nothing
/// to do below compute capability 9.0, where kernels do not start early.
__device__ inline void griddep_wait() {
  NV_IF_TARGET(NV_PROVIDES_SM_90, (asm volatile("griddepcontrol.wait;\n" ::: "memory");))
}

/// Enqueues a kernel that calls griddep_wait() before it reads what others wrote.
template <class Params>
void launch_pdl(void (*kernel)(Params), std::int64_t blocks, int threads, std::size_t shared_bytes,
                cudaStream_t stream, const Params& p) {
  allow_shared_bytes(reinterpret_cast<const void*>(kernel), shared_bytes);
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

/// The same where the device can, else one after the other.
template <class Params>
void launch_pdl_if_hopper(void (*kernel)(Params), std::int64_t blocks, int threads,
                          std::size_t shared_bytes, cudaStream_t stream, const Params& p) {
  if (blocks == 0) return;
  if (on_hopper()) return launch_pdl(kernel, blocks, threads, shared_bytes, stream, p);
  launch(kernel, blocks, threads, shared_bytes, stream, p);
}

}  // namespace nsa::cuda
