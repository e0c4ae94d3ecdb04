#include "cuda/memory/shared_memory.hpp"

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <utility>

#include "nsa/schemas/cuda_error.hpp"

namespace nsa::cuda {

void allow_shared_bytes(const void* kernel, std::size_t bytes) {
  if (bytes <= kPlainSharedBytes) return;
  static std::mutex mutex;
  static std::map<std::pair<const void*, int>, std::size_t> allowed;  // by kernel and device
  int device = 0;
  NSA_CUDA(cudaGetDevice(&device));
  const std::lock_guard lock(mutex);
  std::size_t& most = allowed[{kernel, device}];
  if (bytes <= most) return;
  NSA_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(bytes)));
  most = bytes;
}

}  // namespace nsa::cuda
