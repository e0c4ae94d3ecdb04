#include "cpu/blas.hpp"
#include "cpu/matrix.hpp"
#include "training/cpu/ops.hpp"
#include "training/cpu/product.hpp"
#include "training/cpu/rows.hpp"

namespace nsa::training::cpu {
namespace {

template <class T>
MatrixView<const T> matrix_of(const TensorView& tensor, Workspace& workspace) {
  const Matrix<T> m = matrix_rows<T>(tensor, 0, tensor.shape[0], workspace);
  return {m.data, tensor.shape[0], row_elements(tensor), m.row_stride};
}

template <class T>
void backward(const TensorView& x, const TensorView& w, const TensorView& d_y, const Gradient& d_x,
              const Gradient& d_w, Workspace& workspace) {
  const WorkspaceScope scratch(workspace);
  const MatrixView<const T> dy = matrix_of<T>(d_y, workspace);
  if (d_x.to) {
    const WorkspaceScope product(workspace);
    write_product(dy, matrix_of<T>(w, workspace), d_x, workspace);
  }
  if (d_w.to) write_product(dy.transpose(), matrix_of<T>(x, workspace), d_w, workspace);
}

}  // namespace

void linear_backward(const TensorView& x, const TensorView& w, const TensorView& d_y,
                     const Gradient& d_x, const Gradient& d_w, Workspace& workspace) {
  expects(x.rank == 2 && w.rank == 2 && d_y.rank == 2, "matrices in a linear layer");
  expects(x.shape[0] == d_y.shape[0] && x.shape[1] == w.shape[1] && d_y.shape[1] == w.shape[0],
          "x [rows, in], w [out, in], d_y [rows, out]");
  with_accumulator(x.dtype,
                   [&](auto zero) { backward<decltype(zero)>(x, w, d_y, d_x, d_w, workspace); });
}

}  // namespace nsa::training::cpu
