// Launch functions of the CUDA rows: null in a build without CUDA (cuda_not_built.cpp).
// The table alone includes this: a unit that did would have a new hash with every new row, so units
// define theirs as `extern constinit`.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::project_rope {

extern const LaunchFunction kCudaFused;  // one kernel
extern const LaunchFunction kCudaGemm;
extern const LaunchFunction kCudaGemmTf32;   // the product by TF32 tensor cores
extern const LaunchFunction kCudaGemm16bit;  // the product in the outputs' dtype

}  // namespace nsa::project_rope
