// The CUDA rows of gate_combine, known to a build without CUDA too.
#pragma once

#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa::gate_combine {

std::span<const Variant> cuda_rows();

}  // namespace nsa::gate_combine
