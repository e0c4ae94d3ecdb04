// Inputs that are made on a CUDA device, where they are read. In a build without CUDA everything
// throws EnvironmentError.
#pragma once

#include <cstdint>

#include "nsa/kernels/tensor.hpp"

struct CUstream_st;

namespace nsa::device {

/// Element i of a contiguous tensor on the current device becomes generate(i, seed, scale), rounded
/// once to its dtype: the bits that a host makes. In stream order.
void generate(const TensorView& tensor, std::uint64_t seed, double scale, CUstream_st* stream);

}  // namespace nsa::device
