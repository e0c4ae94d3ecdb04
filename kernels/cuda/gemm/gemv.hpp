// Products of a few rows: a decode step's.
#pragma once

#include "nsa/kernels/tensor.hpp"

struct CUstream_st;

namespace nsa::cuda {

/// Whether gemv() takes y = x W^T: x [rows, in], w [out, in], y [rows, out], few rows, all of them
/// readable 16 bytes at a time.
bool gemv_takes(const TensorView& x, const TensorView& w, const TensorView& y);
/// The product on the current device: bound by reading W once. fp32 sums.
void gemv(const TensorView& x, const TensorView& w, const TensorView& y, CUstream_st* stream);

}  // namespace nsa::cuda
