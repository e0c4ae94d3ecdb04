// Launch functions of the CUDA rows: null in a build without CUDA (cuda_not_built.cpp).
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::score {

using LaunchFunction = void (*)(const LaunchArgs&);
extern const LaunchFunction kCudaMaterialised, kCudaPCmpBf16, kCudaPCmpFp16, kCudaPSlcBf16;

}  // namespace nsa::score
