// The CUDA row of the compressed branch alone, known to a build without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::attend_compressed {

std::span<const Variant> cuda_flash_rows();

}  // namespace nsa::attend_compressed
