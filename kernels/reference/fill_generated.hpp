// Tensors of generated numbers.
#pragma once

#include <cstdint>

#include "nsa/kernels/tensor.hpp"

namespace nsa::reference {

/// Element i of a contiguous tensor becomes generate(i, seed, scale), rounded once; by all threads.
void fill_generated(const TensorView& tensor, std::uint64_t seed, double scale);

}  // namespace nsa::reference
