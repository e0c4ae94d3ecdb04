// The CUDA rows that compute the compressed branch and the selection at once, known to a build
// without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::attend_compressed {

std::span<const Variant> cuda_rows();

}  // namespace nsa::attend_compressed
