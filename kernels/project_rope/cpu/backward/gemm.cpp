// All seven projections, backward: gradients of q and K are turned back to position 0 and gathered
// in the order of the rows of w_qkv, then two products for a tile of tokens.
#include <algorithm>

#include "cpu/accumulator.hpp"
#include "cpu/backward/product.hpp"
#include "nsa/kernels/qkv_rows.hpp"
#include "operands/model_backward.hpp"
#include "project_rope/cpu/rotation.hpp"

namespace nsa::project_rope {
namespace {

/// The gradient of one token's product: zeros where an output's gradient is absent.
template <class T>
void gather_token(std::span<const Projection> parts, const Rotation<T>& rotation,
                  std::int64_t token, T* row) {
  for (const auto& [gradient, heads, dim, rotated] : parts) {
    for (std::int64_t head = 0; head < heads; ++head, row += dim) {
      if (!gradient) {
        std::fill_n(row, dim, T{0});
        continue;
      }
      load_row(gradient, gradient.at(token, head), dim, row);
      if (rotated) rotation.turn_back(row);
    }
  }
}

template <class T>
void run(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const auto t = ProjectBackwardTensors::of(args);
  const auto parts = t.projections(args.problem);
  const auto angles = frequencies(args);
  const std::int64_t tokens = t.x.shape[0], width = qkv_rows(args.problem);
  cpu::ProductBackward<T> product(t.w_qkv, t.d_x, args.adds_to(ProjectBackwardTensors::kDX),
                                  t.d_w_qkv, args.adds_to(ProjectBackwardTensors::kDWQkv), tokens,
                                  args.workspace);
  const auto pairs = static_cast<std::int64_t>(angles.size());
  const auto table = args.workspace.take<T>(2 * pairs * parallel_threads());
  T* gathered = args.workspace.take<T>(std::min(tokens, cpu::kProductTile) * width).data();
  for (std::int64_t first = 0; first < tokens; first += cpu::kProductTile) {
    const std::int64_t count = std::min(cpu::kProductTile, tokens - first);
    parallel_for(0, count, 8, [&](std::int64_t from, std::int64_t to) {
      const auto own = table.subspan(static_cast<std::size_t>(2 * pairs * parallel_thread_index()),
                                     2 * angles.size());
      const Rotation<T> rotation(angles, own);
      for (std::int64_t i = from; i < to; ++i) {
        rotation.set_position(position_of(args.sequences, first + i));
        gather_token<T>(parts, rotation, first + i, gathered + i * width);
      }
    });
    product.add_tile(t.x, {gathered, width}, first, count);
  }
  product.store_weights();
}

}  // namespace

void backward_gemm(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype, [&](auto zero) { run<decltype(zero)>(args); });
}

std::int64_t backward_gemm_workspace(const Problem& p) {
  const std::int64_t dim = p.model.model_dim, width = qkv_rows(p);
  const std::int64_t tile = std::min(cpu::kProductTile, p.total_tokens());
  return accumulator_bytes(p) * (cpu::ProductBackward<float>::numbers(width, dim, tile) +
                                 tile * (width + dim) + p.head_dim_k * parallel_threads()) +
         8 * p.head_dim_k + 4096;
}

}  // namespace nsa::project_rope
