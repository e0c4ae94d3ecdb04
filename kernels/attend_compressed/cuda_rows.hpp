// The CUDA rows of attend_compressed, known to a build without CUDA too: the branch alone, and the
// branch and the selection at once.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::attend_compressed {

std::span<const Variant> cuda_rows();

}  // namespace nsa::attend_compressed
