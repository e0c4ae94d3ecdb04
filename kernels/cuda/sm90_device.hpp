// Whether the current device runs the kernels that are compiled for sm_90a.
#pragma once

#include <cuda_runtime.h>

#include "nsa/schemas/cuda_error.hpp"

namespace nsa::cuda {

inline bool on_hopper() {
  int device = 0, major = 0;
  NSA_CUDA(cudaGetDevice(&device));
  NSA_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major == 9;
}

}  // namespace nsa::cuda
