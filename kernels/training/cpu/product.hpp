// A matrix product whose result is a gradient.
#pragma once

#include "cpu/blas.hpp"
#include "cpu/matrix.hpp"
#include "training/cpu/rows.hpp"

namespace nsa::training::cpu {

/// gradient (+)= a b. In place where it is of type T and overwritten, else through the workspace.
template <class T>
void write_product(const MatrixView<const T>& a, const MatrixView<const T>& b,
                   const Gradient& gradient, Workspace& workspace) {
  const TensorView& to = gradient.to;
  const std::int64_t rows = a.rows, columns = b.columns;
  if (!gradient.add && is_matrix_of<T>(to)) {
    parallel_gemm(a, b, MatrixView<T>{to.as<T>(), rows, columns, to.stride[0]});
    return;
  }
  const WorkspaceScope scratch(workspace);
  T* product = workspace.take<T>(rows * columns).data();
  parallel_gemm(a, b, MatrixView<T>{product, rows, columns, columns});
  for_rows<T>(rows, columns, [&](std::int64_t r, T* old) {
    write(gradient, to.at(r), columns, product + r * columns, old);
  });
}

}  // namespace nsa::training::cpu
