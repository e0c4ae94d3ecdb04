// Rows of a tensor of any storage type, to and from the type that a kernel computes in.
#pragma once

#include <cstdint>

#include "nsa/kernels/tensor.hpp"

namespace nsa {

/// Reads `count` elements from element `offset` on (see TensorView::at). Storage fp64, fp32, bf16
/// or fp16; ContractError on int32.
void load_row(const TensorView& view, std::int64_t offset, std::int64_t count, float* out);
void load_row(const TensorView& view, std::int64_t offset, std::int64_t count, double* out);

/// Writes `count` elements at element `offset`, rounded once to the nearest, ties to even.
void store_row(const TensorView& view, std::int64_t offset, std::int64_t count, const float* in);
void store_row(const TensorView& view, std::int64_t offset, std::int64_t count, const double* in);

}  // namespace nsa
