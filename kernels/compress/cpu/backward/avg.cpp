// phi "avg", backward: a token gets its share of what the gradient of each block that holds it
// says. Blocks overlap, so the blocks of a token are added up; every token is written once.
#include <algorithm>

#include "cpu/accumulator.hpp"
#include "cpu/backward/gradients.hpp"
#include "nsa/kernels/launch.hpp"
#include "nsa/kernels/parallel.hpp"
#include "operands/select_backward.hpp"

namespace nsa::compress {
namespace {

template <class T>
struct Scratch {
  T *row, *sum, *room;  // [max(head_dim_k, head_dim_v)] each
};

/// Blocks [first, end) that hold a token.
struct Blocks {
  std::int64_t first, end;
  Blocks(std::int64_t token, std::int64_t blocks, const Geometry& g)
      : first(std::max<std::int64_t>(0, token - g.cmp_block + g.cmp_stride) / g.cmp_stride),
        end(std::min(blocks, token / g.cmp_stride + 1)) {}
};

template <class T>
void spread_row(const TensorView& pooled, const TensorView& raw, const Sequence& s,
                std::int64_t token, const Geometry& g, bool add, const Scratch<T>& scratch) {
  if (!raw) return;
  const Blocks blocks(token, s.cmp_len, g);
  const std::int64_t dim = raw.shape[2];
  const T share = T{1} / static_cast<T>(g.cmp_block);
  for (std::int64_t head = 0; head < raw.shape[1]; ++head) {
    std::fill_n(scratch.sum, dim, T{0});
    for (std::int64_t i = blocks.first; i < blocks.end; ++i) {
      load_row(pooled, pooled.at(s.cmp_begin + i, head), dim, scratch.row);
      for (std::int64_t c = 0; c < dim; ++c) scratch.sum[c] += scratch.row[c];
    }
    for (std::int64_t c = 0; c < dim; ++c) scratch.sum[c] *= share;
    cpu::store_gradient(raw, raw.at(s.kv_begin + token, head), dim, scratch.sum, add, scratch.room);
  }
}

template <class T>
void spread(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const auto tensors = CompressBackwardTensors::of(args);
  const Problem& p = args.problem;
  const std::int64_t dim = std::max(p.head_dim_k, p.head_dim_v);
  T* all = args.workspace.take<T>(3 * dim * parallel_threads()).data();
  for (const Sequence& s : args.sequences) {
    parallel_for(0, s.kv_len, 16, [&](std::int64_t from, std::int64_t to) {
      T* own = all + 3 * dim * parallel_thread_index();
      const Scratch<T> scratch{own, own + dim, own + 2 * dim};
      for (std::int64_t token = from; token < to; ++token) {
        spread_row(tensors.d_pooled.k, tensors.d_raw.k, s, token, p.geometry,
                   args.adds_to(CompressBackwardTensors::kDK), scratch);
        spread_row(tensors.d_pooled.v, tensors.d_raw.v, s, token, p.geometry,
                   args.adds_to(CompressBackwardTensors::kDV), scratch);
      }
    });
  }
}

}  // namespace

void backward_avg(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype, [&](auto zero) { spread<decltype(zero)>(args); });
}

std::int64_t backward_avg_workspace(const Problem& p) {
  return 3 * std::max(p.head_dim_k, p.head_dim_v) * parallel_threads() * accumulator_bytes(p) +
         4096;
}

}  // namespace nsa::compress
