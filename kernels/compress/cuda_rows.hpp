// The CUDA rows of compress, known to a build without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::compress {

std::span<const Variant> cuda_rows();

using LaunchFunction = void (*)(const LaunchArgs&);
extern const LaunchFunction kCudaAvg;  // null in a build without CUDA (cuda_not_built.cpp)

}  // namespace nsa::compress
