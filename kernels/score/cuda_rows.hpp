// The CUDA rows of score, known to a build without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::score {

std::span<const Variant> cuda_rows();

}  // namespace nsa::score
