// The CUDA rows of project_rope, known to a build without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::project_rope {

std::span<const Variant> cuda_rows();

}  // namespace nsa::project_rope
