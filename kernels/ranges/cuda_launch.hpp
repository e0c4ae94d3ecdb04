// Launch functions of the CUDA rows: null in a build without CUDA (cuda_not_built.cpp).
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::ranges {

using LaunchFunction = void (*)(const LaunchArgs&);
extern const LaunchFunction kCudaRangesV1, kCudaRangesV2, kCudaGpuMerge;

}  // namespace nsa::ranges
