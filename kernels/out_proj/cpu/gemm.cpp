// y = o W_O^T by one matrix product for a tile of tokens.
#include <algorithm>

#include "cpu/accumulator.hpp"
#include "cpu/blas.hpp"
#include "cpu/matrix.hpp"
#include "nsa/kernels/launch.hpp"
#include "operands/model.hpp"

namespace nsa::out_proj {
namespace {

constexpr std::int64_t kTile = 256;  // tokens converted at a time where storage is 16 bits

template <class T>
void project_tile(const LaunchArgs& args, const OutProjTensors& t, const Matrix<T>& w,
                  std::int64_t first, std::int64_t count) {
  const WorkspaceScope scope(args.workspace);
  const TensorView& y = t.y;
  const std::int64_t dim = y.shape[1], inner = t.w_o.shape[1];
  const Matrix<T> o = matrix_rows<T>(t.o, first, count, args.workspace);
  const bool direct = is_matrix_of<T>(y);
  T* out = direct ? y.as<T>() + y.at(first) : args.workspace.take<T>(count * dim).data();
  const std::int64_t stride = direct ? y.stride[0] : dim;
  const MatrixView<const T> weights{w.data, dim, inner, w.row_stride};
  parallel_gemm({o.data, count, inner, o.row_stride}, weights.transpose(),
                MatrixView<T>{out, count, dim, stride});
  if (direct) return;
  parallel_for(0, count, 16, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t r = from; r < to; ++r) store_row(y, y.at(first + r), dim, out + r * dim);
  });
}

template <class T>
void project(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const OutProjTensors t = OutProjTensors::of(args);
  const Matrix<T> w = matrix_rows<T>(t.w_o, 0, t.w_o.shape[0], args.workspace);
  const std::int64_t tokens = t.o.shape[0];
  for (std::int64_t first = 0; first < tokens; first += kTile) {
    project_tile(args, t, w, first, std::min(kTile, tokens - first));
  }
}

}  // namespace

void gemm(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype, [&](auto zero) { project<decltype(zero)>(args); });
}

std::int64_t gemm_workspace(const Problem& p) {
  const std::int64_t dim = p.model.model_dim, inner = p.q_heads * p.head_dim_v;
  const std::int64_t tile = std::min(kTile, p.total_tokens());
  // Where nothing has to be converted, only o is copied: its heads may lie apart.
  const std::int64_t weights_and_y = is_converted(p) ? dim * inner + tile * dim : 0;
  return accumulator_bytes(p) * (weights_and_y + tile * inner) + 4096;
}

}  // namespace nsa::out_proj
