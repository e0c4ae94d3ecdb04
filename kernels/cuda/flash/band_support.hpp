// The row of the table that a branch with one run of keys has on a GPU: plain C++, so that a build
// without CUDA knows it too.
#pragma once

#include "nsa/kernels/catalog.hpp"

namespace nsa::cuda {

/// Whether a thread block of the device can have so many bytes of shared memory.
Support fits_shared_memory(std::int64_t bytes, const Device& device) noexcept;

/// What the kernels of a band of keys (band_launch.cuh) support.
Support supports_band(const Problem& p, const Device& device) noexcept;

/// The row `fused` of a branch; `row` says what it does, launches and is called.
Variant band_row(Variant row);

}  // namespace nsa::cuda
