// What launches need to know of the current device: whether it runs the kernels that are compiled
// for sm_90a, and how many multiprocessors it has.
#pragma once

#include <cuda_runtime.h>

#include "nsa/schemas/cuda_error.hpp"

namespace nsa::cuda {

inline int attribute_of_device(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  NSA_CUDA(cudaGetDevice(&device));
  NSA_CUDA(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

inline bool on_hopper() { return attribute_of_device(cudaDevAttrComputeCapabilityMajor) == 9; }
inline int multiprocessors() { return attribute_of_device(cudaDevAttrMultiProcessorCount); }

}  // namespace nsa::cuda
