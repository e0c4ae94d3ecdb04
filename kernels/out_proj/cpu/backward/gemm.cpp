// y = o W_O^T, backward: d_o = d_y W_O and d_W_O = d_y^T o, for a tile of tokens at a time.
#include <algorithm>

#include "cpu/accumulator.hpp"
#include "cpu/backward/product.hpp"
#include "operands/model_backward.hpp"

namespace nsa::out_proj {
namespace {

template <class T>
void run(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const auto t = OutProjBackwardTensors::of(args);
  const std::int64_t tokens = t.d_y.shape[0];
  cpu::ProductBackward<T> product(t.w_o, t.d_o, args.adds_to(OutProjBackwardTensors::kDO), t.d_w_o,
                                  args.adds_to(OutProjBackwardTensors::kDWO), tokens,
                                  args.workspace);
  for (std::int64_t first = 0; first < tokens; first += cpu::kProductTile) {
    const WorkspaceScope tile(args.workspace);
    const std::int64_t count = std::min(cpu::kProductTile, tokens - first);
    product.add_tile(t.o, matrix_rows<T>(t.d_y, first, count, args.workspace), first, count);
  }
  product.store_weights();
}

}  // namespace

void backward_gemm(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype, [&](auto zero) { run<decltype(zero)>(args); });
}

std::int64_t backward_gemm_workspace(const Problem& p) {
  const std::int64_t dim = p.model.model_dim, inner = p.q_heads * p.head_dim_v;
  const std::int64_t tile = std::min(cpu::kProductTile, p.total_tokens());
  return accumulator_bytes(p) *
             (cpu::ProductBackward<float>::numbers(dim, inner, tile) + tile * (dim + inner)) +
         4096;
}

}  // namespace nsa::out_proj
