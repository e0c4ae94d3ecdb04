// Whether a tensor can be read 16 bytes at a time.
#pragma once

#include <cstdint>

#include "nsa/kernels/tensor.hpp"

namespace nsa::cuda {

/// True when every row of the last dimension starts at a multiple of 16 bytes and ends at one.
inline bool rows_are_vectors(const TensorView& tensor) {
  const auto element = static_cast<std::int64_t>(size_of(tensor.dtype));
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % 16 != 0) return false;
  const auto last = static_cast<std::size_t>(tensor.rank - 1);
  if (tensor.shape[last] * element % 16 != 0) return false;
  for (std::size_t i = 0; i < last; ++i) {
    if (tensor.stride[i] * element % 16 != 0) return false;
  }
  return true;
}

/// True when every row of a tensor [rows, heads, dim] starts at a multiple of 16 bytes; it may end
/// anywhere. Where rows do not, kernels load element by element.
inline bool rows_start_aligned(const TensorView& tensor) {
  const auto element = static_cast<std::int64_t>(size_of(tensor.dtype));
  return reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0 &&
         tensor.stride[0] * element % 16 == 0 && tensor.stride[1] * element % 16 == 0;
}

}  // namespace nsa::cuda
