// The CUDA rows of attend_selected, known to a build without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::attend_selected {

std::span<const Variant> cuda_rows();

}  // namespace nsa::attend_selected
