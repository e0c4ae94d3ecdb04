#include "attend_selected/cpu/copied_rows.hpp"

#include "cpu/simd/tile_gemm.hpp"

namespace nsa::cpu {

template <class T>
CopySource<T> pack_source(const LaunchArgs& args, const SelectedTensors& tensors,
                          const PackedMemory<T>& memory) {
  const Problem& p = args.problem;
  std::vector<PackRequest> requests;
  for (const Sequence& s : args.sequences) {
    for (std::int64_t g = 0; g < p.kv_heads; ++g) {
      requests.push_back({{tensors.kv.k, tensors.kv.v, g, s.kv_begin, s.kv_len}, 0, s.kv_len});
    }
  }
  const PanelShape shape{kPanelKeys, p.head_dim_k, p.head_dim_v};
  return {pack_heads<T>(requests, shape, memory, false), args.sequences.data(), p.kv_heads};
}

template <class T>
void copy_spans(const PackedHead<T>& from, std::span<const TokenSpan> spans,
                const CopiedRow<T>& to) {
  const std::int64_t ld = to.ld(), out_cols = from.shape.out_cols();
  std::int64_t at = 0;
  for (const TokenSpan& span : spans) {
    for (std::int64_t key = span.begin; key < span.end;) {
      const std::int64_t panel = key / kPanelKeys, column = key % kPanelKeys;
      const std::int64_t count = std::min(kPanelKeys - column, span.end - key);
      const T* k = from.k_panel(panel) + column;
      for (std::int64_t d = 0; d < from.shape.dim_k; ++d) {
        std::copy_n(k + d * from.shape.width(), count, to.k + d * ld + at);
      }
      std::copy_n(from.v_panel(panel) + column * out_cols, count * out_cols, to.v + at * out_cols);
      key += count, at += count;
    }
  }
  for (std::int64_t d = 0; d < from.shape.dim_k; ++d) {
    std::fill(to.k + d * ld + at, to.k + (d + 1) * ld, T{0});
  }
  std::fill(to.v + at * out_cols, to.v + to.padded * out_cols, T{0});
}

template <class T>
void attend_copied(const LaunchArgs& args, const SelectedTensors& tensors, const CopiedRow<T>& row,
                   const CopyMemory<T>& memory) {
  const Problem& p = args.problem;
  const std::int64_t heads = p.heads_per_group(), out_cols = pad_up(p.head_dim_v);
  const std::int64_t ld = row.ld(), cols = pad_up(row.padded), thread = parallel_thread_index();
  T* q = memory.q.data() + thread * memory.q_size;
  T* scores = memory.scores.data() + thread * memory.scores_size;
  T* out = memory.out.data() + thread * memory.out_size;
  load_queries(tensors.q, row.row.q_row, row.row.kv_head * heads, heads, p.head_dim_k, q);
  tile_gemm({.rows = heads, .cols = cols, .depth = p.head_dim_k}, {q, p.head_dim_k}, {row.k, ld},
            {scores, ld}, Store::overwrite);
  RowSums<T>* sums = memory.sums.data() + thread * heads;
  for (std::int64_t h = 0; h < heads; ++h) {
    T* line = scores + h * ld;
    std::fill(line + row.length, line + cols, -std::numeric_limits<T>::infinity());
    sums[h] = softmax_row(line, cols);
  }
  tile_gemm({.rows = heads, .cols = out_cols, .depth = row.padded}, {scores, ld}, {row.v, out_cols},
            {out, out_cols}, Store::overwrite);
  for (std::int64_t h = 0; h < heads; ++h) {
    store_output(tensors.o, tensors.lse, row.row.q_row, row.row.kv_head * heads + h, p.head_dim_v,
                 out + h * out_cols, sums[h]);
  }
}

template CopySource<float> pack_source(const LaunchArgs&, const SelectedTensors&,
                                       const PackedMemory<float>&);
template CopySource<double> pack_source(const LaunchArgs&, const SelectedTensors&,
                                        const PackedMemory<double>&);
template void copy_spans(const PackedHead<float>&, std::span<const TokenSpan>,
                         const CopiedRow<float>&);
template void copy_spans(const PackedHead<double>&, std::span<const TokenSpan>,
                         const CopiedRow<double>&);
template void attend_copied(const LaunchArgs&, const SelectedTensors&, const CopiedRow<float>&,
                            const CopyMemory<float>&);
template void attend_copied(const LaunchArgs&, const SelectedTensors&, const CopiedRow<double>&,
                            const CopyMemory<double>&);

std::int64_t packed_copies_bytes(const Problem& problem) {
  const std::vector<Sequence> sequences = sequences_of(problem);
  return with_compute_type(problem.dtype, [&]<class T>() {
    ByteCounter counter;
    PackedCopies<T>::layout(counter, problem, sequences);
    return counter.bytes();
  });
}

}  // namespace nsa::cpu
