// The CUDA rows of compress, known to a build without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::compress {

std::span<const Variant> cuda_rows();

}  // namespace nsa::compress
