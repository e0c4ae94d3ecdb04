// The CUDA rows of ranges, known to a build without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::ranges {

std::span<const Variant> cuda_rows();

}  // namespace nsa::ranges
