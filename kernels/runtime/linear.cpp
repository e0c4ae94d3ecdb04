#include "linear.hpp"

#include "cpu/accumulator.hpp"
#include "cpu/multiply_rows.hpp"

namespace nsa {

void linear(const TensorView& x, const TensorView& w, const TensorView& y, Workspace& workspace) {
  expects(x.rank == 2 && w.rank == 2 && y.rank == 2, "matrices in a linear layer");
  expects(x.shape[1] == w.shape[1] && y.shape[1] == w.shape[0] && y.shape[0] == x.shape[0],
          "x [rows, in], w [out, in], y [rows, out]");
  const WorkspaceScope scratch(workspace);
  with_accumulator(x.dtype, [&](auto zero) {
    const auto weights = matrix_rows<decltype(zero)>(w, 0, w.shape[0], workspace);
    multiply_rows(x, weights, y, 0, x.shape[0], workspace);
  });
}

}  // namespace nsa
