// Whether a failed CUDA call found no memory. Apart from cuda_error.hpp, which kernels include: a
// change of that file would make the measurements of all of them stale. Functions share nothing:
// threads may call them at the same time.
#pragma once

#include "nsa/schemas/cuda_error.hpp"

namespace nsa {

inline constexpr int kMemoryAllocation = 2;  // cudaErrorMemoryAllocation, without the toolkit

/// The device has no memory left; its context lives on.
inline bool is_out_of_memory(const CudaError& error) noexcept {
  return error.code == kMemoryAllocation;
}

}  // namespace nsa
