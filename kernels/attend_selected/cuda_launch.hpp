// Launch functions of the CUDA rows: null in a build without CUDA (cuda_not_built.cpp).
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::attend_selected {

using LaunchFunction = void (*)(const LaunchArgs&);
extern const LaunchFunction kCudaMasked, kCudaRanges, kCudaGather, kCudaFusedQuery;

}  // namespace nsa::attend_selected
