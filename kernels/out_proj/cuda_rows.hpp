// The CUDA rows of out_proj, known to a build without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::out_proj {

std::span<const Variant> cuda_rows();

using LaunchFunction = void (*)(const LaunchArgs&);
// Null in a build without CUDA (cuda_not_built.cpp).
extern const LaunchFunction kCudaGemm;
extern const LaunchFunction kCudaGemmTf32;  // the product by TF32 tensor cores

}  // namespace nsa::out_proj
