// Rows of a product with weights, by one call of the BLAS.
#pragma once

#include "cpu/blas.hpp"
#include "cpu/matrix.hpp"

namespace nsa {

/// Rows [first, first + count) of y = x W^T: x [rows, in] or [rows, heads, dim], w [out, in],
/// y [rows, out]. Converts what is not of the type that is computed in, in the workspace.
template <class T>
void multiply_rows(const TensorView& x, const Matrix<T>& w, const TensorView& y, std::int64_t first,
                   std::int64_t count, Workspace& workspace) {
  const WorkspaceScope scope(workspace);
  const std::int64_t in = row_elements(x), out = y.shape[1];
  const Matrix<T> left = matrix_rows<T>(x, first, count, workspace);
  const bool direct = is_matrix_of<T>(y);
  T* product = direct ? y.as<T>() + y.at(first) : workspace.take<T>(count * out).data();
  const std::int64_t stride = direct ? y.stride[0] : out;
  const MatrixView<const T> weights{w.data, out, in, w.row_stride};
  parallel_gemm({left.data, count, in, left.row_stride}, weights.transpose(),
                MatrixView<T>{product, count, out, stride});
  if (direct) return;
  parallel_for(0, count, 16, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t r = from; r < to; ++r) store_row(y, y.at(first + r), out, product + r * out);
  });
}

}  // namespace nsa
