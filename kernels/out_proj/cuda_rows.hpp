// The CUDA rows of out_proj, known to a build without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::out_proj {

std::span<const Variant> cuda_rows();

}  // namespace nsa::out_proj
