// varlen: K and V of many rows copied one after the other, row boundaries in cu_seqlens, and one
// attention over all of them. v1 packs in a loop over keys and elements on one thread; v2 packs
// runs of keys with all threads.
#include "attend_selected/cpu/copied_rows.hpp"
#include "cpu/convert.hpp"

namespace nsa::cpu {
namespace {

enum class Packing : std::uint8_t { element_loop, runs };

template <class T>
struct Memory {
  PackedMemory<T> packed;  // v2 only
  CopyMemory<T> copy;
  std::span<T> row;                    // one key
  std::span<std::int64_t> cu_seqlens;  // [rows of a chunk + 1] keys before each row
};
template <class T, class Taker>
Memory<T> layout_memory(Taker& taker, const Problem& p, std::span<const Sequence> sequences,
                        Packing packing) {
  Memory<T> m;
  if (packing == Packing::runs) m.packed = layout_source<T>(taker, p, sequences);
  m.copy = CopyMemory<T>::layout(taker, p);
  m.row = taker.template take<T>(p.head_dim_k);
  m.cu_seqlens = taker.template take<std::int64_t>(rows_per_chunk<T>(p, longest_row(p)) + 1);
  return m;
}

template <class T>
struct Launch {
  const LaunchArgs& args;
  SelectedTensors tensors;
  Memory<T> memory;
  RowIndex rows;

  std::span<const TokenSpan> spans_of(const SelectedRow& row) const {
    TokenSpan* spans = memory.copy.my_spans(args.problem);
    const std::int64_t count =
        row_spans(tensors.ranges, row.q_row, row.kv_head, row.position, spans);
    return {spans, static_cast<std::size_t>(count)};
  }
  void lay_out(std::int64_t first, std::span<CopiedRow<T>> chunk) const;
  void pack_by_elements(const CopiedRow<T>& row) const;
  void attend(std::span<const CopiedRow<T>> chunk) const;
};

/// Lengths and places of the rows from `first` on: cu_seqlens, as the attention wants them.
template <class T>
void Launch<T>::lay_out(std::int64_t first, std::span<CopiedRow<T>> chunk) const {
  const Problem& p = args.problem;
  T* next = memory.copy.copies.data();
  memory.cu_seqlens[0] = 0;
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    CopiedRow<T>& row = chunk[i];
    row.row = rows[first + static_cast<std::int64_t>(i)];
    row.length = row.padded = length_of(spans_of(row.row));
    expects(row.length <= longest_row(p), "ranges with n l' tokens or less in a row");
    row.k = next;
    row.v = row.k + row.ld() * p.head_dim_k;
    next += copy_elements(p, row.length);
    memory.cu_seqlens[i + 1] = memory.cu_seqlens[i] + row.length;
  }
  args.workspace.note_need({.varlen_n = static_cast<std::int64_t>(chunk.size()),
                            .varlen_k = memory.cu_seqlens[chunk.size()]});
}

template <class T>
void Launch<T>::pack_by_elements(const CopiedRow<T>& row) const {
  const Problem& p = args.problem;
  const std::int64_t out_cols = pad_up(p.head_dim_v), ld = row.ld();
  std::int64_t at = 0;
  for (const TokenSpan& span : spans_of(row.row)) {
    for (std::int64_t key = span.begin; key < span.end; ++key, ++at) {
      const std::int64_t from = row.row.sequence->kv_begin + key;
      load_row(tensors.kv.k, tensors.kv.k.at(from, row.row.kv_head), p.head_dim_k,
               memory.row.data());
      for (std::int64_t d = 0; d < p.head_dim_k; ++d) {
        row.k[d * ld + at] = memory.row[static_cast<std::size_t>(d)];
      }
      T* v = row.v + at * out_cols;
      load_row(tensors.kv.v, tensors.kv.v.at(from, row.row.kv_head), p.head_dim_v, v);
      std::fill(v + p.head_dim_v, v + out_cols, T{0});
    }
  }
  for (std::int64_t d = 0; d < p.head_dim_k; ++d) {
    std::fill(row.k + d * ld + at, row.k + (d + 1) * ld, T{0});
  }
}

template <class T>
void Launch<T>::attend(std::span<const CopiedRow<T>> chunk) const {
  parallel_for(0, static_cast<std::int64_t>(chunk.size()), 4,
               [&](std::int64_t from, std::int64_t to) {
                 for (std::int64_t i = from; i < to; ++i) {
                   attend_copied(args, tensors, chunk[static_cast<std::size_t>(i)], memory.copy);
                 }
               });
}

template <class T>
void run(const LaunchArgs& args, Packing packing) {
  const Problem& p = args.problem;
  const SelectedTensors tensors = SelectedTensors::of(args);
  const Launch<T> launch{args, tensors,
                         layout_memory<T>(args.workspace, p, args.sequences, packing),
                         RowIndex(args.sequences, p.kv_heads)};
  CopySource<T> source;
  if (packing == Packing::runs) source = pack_source<T>(args, tensors, launch.memory.packed);
  const std::int64_t rows = launch.rows.size();
  const std::int64_t most = rows_per_chunk<T>(p, longest_row(p));
  std::vector<CopiedRow<T>> copied(static_cast<std::size_t>(most));
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::span chunk(copied.data(), static_cast<std::size_t>(std::min(most, rows - first)));
    launch.lay_out(first, chunk);
    if (packing == Packing::element_loop) {
      for (const CopiedRow<T>& row : chunk) launch.pack_by_elements(row);
    } else {
      parallel_for(0, static_cast<std::int64_t>(chunk.size()), 4,
                   [&](std::int64_t from, std::int64_t to) {
                     for (std::int64_t i = from; i < to; ++i) {
                       const CopiedRow<T>& row = chunk[static_cast<std::size_t>(i)];
                       copy_spans(source.of(row.row), launch.spans_of(row.row), row);
                     }
                   });
    }
    launch.attend(chunk);
  }
}

std::int64_t bytes(const Problem& problem, Packing packing) {
  const std::vector<Sequence> sequences = sequences_of(problem);
  return with_compute_type(problem.dtype, [&]<class T>() {
    ByteCounter counter;
    layout_memory<T>(counter, problem, sequences, packing);
    return counter.bytes();
  });
}

}  // namespace

void selected_varlen_v1(const LaunchArgs& args) {
  with_compute_type(args.problem.dtype, [&]<class T>() { run<T>(args, Packing::element_loop); });
}
void selected_varlen_v2(const LaunchArgs& args) {
  with_compute_type(args.problem.dtype, [&]<class T>() { run<T>(args, Packing::runs); });
}
std::int64_t selected_varlen_v1_bytes(const Problem& p) { return bytes(p, Packing::element_loop); }
std::int64_t selected_varlen_v2_bytes(const Problem& p) { return bytes(p, Packing::runs); }

}  // namespace nsa::cpu
