// What the kernels of a band of keys support: plain C++, so that a build without CUDA knows it too.
#pragma once

#include "nsa/kernels/catalog.hpp"

namespace nsa::cuda {

Support supports_band(const Problem& p, const Device& device);

}  // namespace nsa::cuda
