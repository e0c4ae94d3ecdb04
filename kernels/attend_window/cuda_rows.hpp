// The CUDA rows of attend_window, known to a build without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::attend_window {

std::span<const Variant> cuda_rows();

}  // namespace nsa::attend_window
