#include "cuda/gemm/linear_backward.hpp"

namespace nsa::cuda {

void linear_backward(const TensorView& x, const TensorView& w, const TensorView& d_y,
                     const GradientMatrix& d_x, const GradientMatrix& d_w, Workspace& workspace,
                     CUstream_st* stream, GemmOptions options) {
  options.w = WLayout::in_out;
  if (d_x.view) {
    options.accumulate = d_x.accumulate;
    gemm(d_y, w, d_x.view, workspace, stream, options);
  }
  if (d_w.view) {
    options.accumulate = d_w.accumulate;
    options.x = XLayout::in_rows;
    gemm(d_y, x, d_w.view, workspace, stream, options);
  }
}

}  // namespace nsa::cuda
