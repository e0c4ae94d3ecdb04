// ranges: the users' slow path. A host loop over rows and groups on one thread; each row copies its
// keys and is one small attention of its own, with GEMMs of a few rows (17-19 GFLOP/s a core where
// the machine does 105). Kept because guarding against it is the point.
#include "attend_selected/cpu/spans.hpp"
#include "cpu/blas.hpp"
#include "cpu/convert.hpp"
#include "cpu/rows.hpp"
#include "cpu/simd/tile_gemm.hpp"
#include "operands/attend.hpp"

namespace nsa::cpu {
namespace {

template <class T>
struct Memory {
  std::span<T> q, k, v, scores, out;
  std::span<TokenSpan> spans;
};

template <class T, class Taker>
Memory<T> layout_memory(Taker& taker, const Problem& p) {
  const std::int64_t heads = p.heads_per_group();
  const std::int64_t most = longest_row(p);
  Memory<T> m;
  m.q = taker.template take<T>(heads * p.head_dim_k);
  m.k = taker.template take<T>(most * p.head_dim_k);
  m.v = taker.template take<T>(most * p.head_dim_v);
  m.scores = taker.template take<T>(heads * pad_up(most));
  m.out = taker.template take<T>(heads * pad_up(p.head_dim_v));
  m.spans = taker.template take<TokenSpan>(p.geometry.sel_count);
  return m;
}

/// Copies the keys of a row. Returns their number.
template <class T>
std::int64_t copy_keys(const LaunchArgs& args, const SelectedTensors& tensors,
                       const SelectedRow& row, const Memory<T>& m) {
  const Problem& p = args.problem;
  const std::int64_t count =
      row_spans(tensors.ranges, row.q_row, row.kv_head, row.position, m.spans.data());
  const std::span<const TokenSpan> spans(m.spans.data(), static_cast<std::size_t>(count));
  expects(length_of(spans) <= longest_row(p), "ranges with n l' tokens or less in a row");
  std::int64_t length = 0;
  for (const TokenSpan& span : spans) {
    for (std::int64_t key = span.begin; key < span.end; ++key, ++length) {
      const std::int64_t at = row.sequence->kv_begin + key;
      load_row(tensors.kv.k, tensors.kv.k.at(at, row.kv_head), p.head_dim_k,
               m.k.data() + length * p.head_dim_k);
      load_row(tensors.kv.v, tensors.kv.v.at(at, row.kv_head), p.head_dim_v,
               m.v.data() + length * p.head_dim_v);
    }
  }
  return length;
}

template <class T>
void attend_row(const LaunchArgs& args, const SelectedTensors& tensors, const SelectedRow& row,
                const Memory<T>& m) {
  const Problem& p = args.problem;
  const std::int64_t heads = p.heads_per_group(), out_cols = pad_up(p.head_dim_v);
  const std::int64_t length = copy_keys(args, tensors, row, m), ld = pad_up(length);
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  load_queries(tensors.q, row.q_row, row.kv_head * heads, heads, p.head_dim_k, m.q.data());
  if (length > 0) {
    const std::int64_t dim = p.head_dim_k;
    const MatrixView<const T> keys{m.k.data(), length, dim, dim};
    gemm({m.q.data(), heads, dim, dim}, keys.transpose(),
         MatrixView<T>{m.scores.data(), heads, length, ld});
  }
  for (std::int64_t h = 0; h < heads; ++h) {
    T* scores = m.scores.data() + h * ld;
    T* out = m.out.data() + h * out_cols;
    std::fill(scores + length, scores + ld, kNothing);
    const RowSums<T> sums = softmax_row(scores, ld);
    if (length > 0) {
      const std::int64_t dim = p.head_dim_v;
      const MatrixView<const T> values{m.v.data(), length, dim, dim};
      gemm({scores, 1, length, ld}, values, MatrixView<T>{out, 1, dim, out_cols});
    }
    store_output(tensors.o, tensors.lse, row.q_row, row.kv_head * heads + h, p.head_dim_v, out,
                 sums);
  }
}

}  // namespace

void selected_ranges(const LaunchArgs& args) {
  const SelectedTensors tensors = SelectedTensors::of(args);
  const RowIndex rows(args.sequences, args.problem.kv_heads);
  with_compute_type(args.problem.dtype, [&]<class T>() {
    const Memory<T> memory = layout_memory<T>(args.workspace, args.problem);
    for (std::int64_t i = 0; i < rows.size(); ++i) attend_row(args, tensors, rows[i], memory);
  });
}

std::int64_t selected_ranges_bytes(const Problem& problem) {
  return with_compute_type(problem.dtype, [&]<class T>() {
    ByteCounter counter;
    layout_memory<T>(counter, problem);
    return counter.bytes();
  });
}

}  // namespace nsa::cpu
