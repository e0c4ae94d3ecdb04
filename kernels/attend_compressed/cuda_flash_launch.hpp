// Launch function of the row `fused`: null in a build without CUDA (cuda_flash_not_built.cpp).
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::attend_compressed {

using LaunchFunction = void (*)(const LaunchArgs&);
extern const LaunchFunction kCudaFlash;

}  // namespace nsa::attend_compressed
