// Launch functions of the CUDA rows: null in a build without CUDA (cuda_not_built.cpp).
// The table alone includes this: a unit that did would have a new hash with every new row, so units
// define theirs as `extern constinit`.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::score {

extern const LaunchFunction kCudaMaterialised, kCudaPCmpBf16, kCudaPCmpFp16, kCudaPSlcBf16;

}  // namespace nsa::score
