// Backward of y = x w^T by two products.
#pragma once

#include "cuda/gemm/gemm.hpp"

namespace nsa::cuda {

/// A gradient to write; `view` may be absent: nobody wants it.
struct GradientMatrix {
  TensorView view;
  bool accumulate = false;  // it is added to what is there
};

/// d_x [rows, in] = d_y w and d_w [out, in] = d_y^T x, for x [rows, in], w [out, in] and
/// d_y [rows, out] of one dtype; the gradients of that dtype or fp32. `options` says the algorithm.
void linear_backward(const TensorView& x, const TensorView& w, const TensorView& d_y,
                     const GradientMatrix& d_x, const GradientMatrix& d_w, Workspace& workspace,
                     CUstream_st* stream, GemmOptions options = {});

}  // namespace nsa::cuda
