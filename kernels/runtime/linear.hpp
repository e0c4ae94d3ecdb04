// A linear layer without bias, in any storage type.
#pragma once

#include "nsa/kernels/tensor.hpp"
#include "nsa/kernels/workspace.hpp"

namespace nsa {

/// y = x W^T: x [rows, in], w [out, in], y [rows, out], equal dtypes, rows contiguous. Accumulates
/// in fp32 (fp64 for fp64) and rounds once. Half types are converted through the workspace.
void linear(const TensorView& x, const TensorView& w, const TensorView& y, Workspace& workspace);

}  // namespace nsa
