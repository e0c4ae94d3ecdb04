// y = o W_O^T by one matrix product for a tile of tokens.
#include <algorithm>

#include "cpu/accumulator.hpp"
#include "cpu/multiply_rows.hpp"
#include "nsa/kernels/launch.hpp"
#include "operands/model.hpp"

namespace nsa::out_proj {
namespace {

constexpr std::int64_t kTile = 256;  // tokens converted at a time where storage is 16 bits

template <class T>
void project(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const OutProjTensors t = OutProjTensors::of(args);
  const Matrix<T> w = matrix_rows<T>(t.w_o, 0, t.w_o.shape[0], args.workspace);
  const std::int64_t tokens = t.o.shape[0];
  for (std::int64_t first = 0; first < tokens; first += kTile) {
    multiply_rows(t.o, w, t.y, first, std::min(kTile, tokens - first), args.workspace);
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
