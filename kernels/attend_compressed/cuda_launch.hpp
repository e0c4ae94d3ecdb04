// Launch functions of the CUDA rows: null in a build without CUDA (cuda_not_built.cpp).
// The table alone includes this: a unit that did would have a new hash with every new row, so units
// define theirs as `extern constinit`.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::attend_compressed {

extern const LaunchFunction kCudaFlash;  // the branch alone
extern const LaunchFunction kCudaFused;  // with scores and selection

}  // namespace nsa::attend_compressed
