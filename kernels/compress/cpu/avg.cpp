// phi "avg": the mean of l rows. Compressed token i of a sequence covers tokens [i d, i d + l).
#include <algorithm>

#include "cpu/accumulator.hpp"
#include "cpu/convert.hpp"
#include "nsa/kernels/launch.hpp"
#include "nsa/kernels/parallel.hpp"
#include "operands/select.hpp"

namespace nsa::compress {
namespace {

template <class T>
struct Scratch {
  T* row;  // [max(head_dim_k, head_dim_v)]
  T* sum;  // the same
};

template <class T>
void pool_row(const TensorView& raw, const TensorView& pooled, std::int64_t first, std::int64_t row,
              const Geometry& g, const Scratch<T>& scratch) {
  const std::int64_t dim = raw.shape[2];
  for (std::int64_t head = 0; head < raw.shape[1]; ++head) {
    std::fill_n(scratch.sum, dim, T{0});
    for (std::int64_t token = first; token < first + g.cmp_block; ++token) {
      load_row(raw, raw.at(token, head), dim, scratch.row);
      for (std::int64_t c = 0; c < dim; ++c) scratch.sum[c] += scratch.row[c];
    }
    const T share = T{1} / static_cast<T>(g.cmp_block);
    for (std::int64_t c = 0; c < dim; ++c) scratch.sum[c] *= share;
    store_row(pooled, pooled.at(row, head), dim, scratch.sum);
  }
}

template <class T>
void pool(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  const CompressTensors tensors = CompressTensors::of(args);
  const KvTensors &raw = tensors.raw, &pooled = tensors.pooled;
  const Problem& p = args.problem;
  const std::int64_t dim = std::max(p.head_dim_k, p.head_dim_v);
  T* all = args.workspace.take<T>(2 * dim * parallel_threads()).data();
  for (const Sequence& s : args.sequences) {
    parallel_for(0, s.cmp_len, 8, [&](std::int64_t from, std::int64_t to) {
      T* own = all + 2 * dim * parallel_thread_index();
      for (std::int64_t i = from; i < to; ++i) {
        const std::int64_t first = s.kv_begin + i * p.geometry.cmp_stride, row = s.cmp_begin + i;
        const Scratch<T> scratch{own, own + dim};
        pool_row<T>(raw.k, pooled.k, first, row, p.geometry, scratch);
        pool_row<T>(raw.v, pooled.v, first, row, p.geometry, scratch);
      }
    });
  }
}

}  // namespace

void avg(const LaunchArgs& args) {
  with_accumulator(args.problem.dtype, [&](auto zero) { pool<decltype(zero)>(args); });
}

std::int64_t avg_workspace(const Problem& p) {
  return 2 * std::max(p.head_dim_k, p.head_dim_v) * parallel_threads() * accumulator_bytes(p) +
         4096;
}

}  // namespace nsa::compress
