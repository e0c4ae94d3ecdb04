#include "linear.hpp"

#include "cpu/accumulator.hpp"
#include "cpu/blas.hpp"
#include "cpu/convert.hpp"
#include "cpu/matrix.hpp"

namespace nsa {
namespace {

template <class T>
void multiply(const TensorView& x, const TensorView& w, const TensorView& y, Workspace& workspace) {
  const WorkspaceScope scratch(workspace);
  const std::int64_t rows = x.shape[0], in = x.shape[1], out = w.shape[0];
  const Matrix<T> a = matrix_rows<T>(x, 0, rows, workspace);
  const Matrix<T> b = matrix_rows<T>(w, 0, out, workspace);
  const bool direct = is_matrix_of<T>(y);
  T* c = direct ? y.as<T>() : workspace.take<T>(rows * out).data();
  const std::int64_t ldc = direct ? y.stride[0] : out;
  const MatrixView<const T> weights{b.data, out, in, b.row_stride};
  parallel_gemm({a.data, rows, in, a.row_stride}, weights.transpose(),
                MatrixView<T>{c, rows, out, ldc});
  if (direct) return;
  parallel_for(0, rows, 16, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t r = from; r < to; ++r) store_row(y, y.at(r), out, c + r * out);
  });
}

}  // namespace

void linear(const TensorView& x, const TensorView& w, const TensorView& y, Workspace& workspace) {
  expects(x.rank == 2 && w.rank == 2 && y.rank == 2, "matrices in a linear layer");
  expects(x.shape[1] == w.shape[1] && y.shape[1] == w.shape[0] && y.shape[0] == x.shape[0],
          "x [rows, in], w [out, in], y [rows, out]");
  with_accumulator(x.dtype, [&](auto zero) { multiply<decltype(zero)>(x, w, y, workspace); });
}

}  // namespace nsa
