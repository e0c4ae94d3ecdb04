// All seven projections, backward: gradients of q and K are turned back to position 0 and gathered
// in the order of the rows of w_qkv, then two products for a tile of tokens.
#include <algorithm>
#include <cmath>

#include "cpu/accumulator.hpp"
#include "cpu/backward/product.hpp"
#include "operands/model_backward.hpp"

namespace nsa::project_rope {
namespace {

std::int64_t width_of(const Problem& p) {
  return p.q_heads * p.head_dim_k + 3 * p.kv_heads * (p.head_dim_k + p.head_dim_v);
}

/// Angles are computed in fp64 whatever the storage, as in the forward pass.
std::span<const double> frequencies(const LaunchArgs& args) {
  const auto pairs = args.workspace.take<double>(args.problem.head_dim_k / 2);
  const double dim = static_cast<double>(args.problem.head_dim_k);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = std::pow(args.options.rope_base, -2.0 * static_cast<double>(i) / dim) /
               args.options.rope_scale;
  }
  return pairs;
}

/// A rotation by the angle that the forward pass turned by, back.
template <class T>
struct Rotation {
  std::span<const double> frequencies;  // [head_dim_k / 2]
  T *cosine, *sine;                     // [head_dim_k / 2] of one position

  void set_position(std::int64_t position) const {
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      const double angle = static_cast<double>(position) * frequencies[i];
      cosine[i] = static_cast<T>(std::cos(angle));
      sine[i] = static_cast<T>(std::sin(angle));
    }
  }
  void turn_back(T* head) const {
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      const T x0 = head[2 * i], x1 = head[2 * i + 1];
      head[2 * i] = x0 * cosine[i] + x1 * sine[i];
      head[2 * i + 1] = x1 * cosine[i] - x0 * sine[i];
    }
  }
};

std::int64_t position_of(std::span<const Sequence> sequences, std::int64_t token) {
  const auto after =
      std::upper_bound(sequences.begin(), sequences.end(), token,
                       [](std::int64_t row, const Sequence& s) { return row < s.q_begin; });
  const Sequence& s = *(after - 1);
  return s.first_position() + token - s.q_begin;
}

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
  const std::int64_t tokens = t.x.shape[0], width = width_of(args.problem);
  cpu::ProductBackward<T> product(t.w_qkv, t.d_x, args.adds_to(ProjectBackwardTensors::kDX),
                                  t.d_w_qkv, args.adds_to(ProjectBackwardTensors::kDWQkv), tokens,
                                  args.workspace);
  const auto pairs = static_cast<std::int64_t>(angles.size());
  T* table = args.workspace.take<T>(2 * pairs * parallel_threads()).data();
  T* gathered = args.workspace.take<T>(std::min(tokens, cpu::kProductTile) * width).data();
  for (std::int64_t first = 0; first < tokens; first += cpu::kProductTile) {
    const std::int64_t count = std::min(cpu::kProductTile, tokens - first);
    parallel_for(0, count, 8, [&](std::int64_t from, std::int64_t to) {
      T* own = table + 2 * pairs * parallel_thread_index();
      const Rotation<T> rotation{angles, own, own + pairs};
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
  const std::int64_t dim = p.model.model_dim, width = width_of(p);
  const std::int64_t tile = std::min(cpu::kProductTile, p.total_tokens());
  return accumulator_bytes(p) * (cpu::ProductBackward<float>::numbers(width, dim, tile) +
                                 tile * (width + dim) + p.head_dim_k * parallel_threads()) +
         8 * p.head_dim_k + 4096;
}

}  // namespace nsa::project_rope
