// Launch functions of the CUDA rows: null in a build without CUDA (cuda_not_built.cpp).
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::attend_compressed {

using LaunchFunction = void (*)(const LaunchArgs&);
extern const LaunchFunction kCudaFlash;  // the branch alone
extern const LaunchFunction kCudaFused;  // with scores and selection

}  // namespace nsa::attend_compressed
