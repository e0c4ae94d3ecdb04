// packed: rows put into buckets of equal length, and one batched attention per bucket, without
// padding. Big buckets are worked on in chunks; the reserve need is the largest chunk.
#include <map>

#include "attend_selected/cpu/copied_rows.hpp"

namespace nsa::cpu {
namespace {

/// Numbers of the rows of each length.
using Buckets = std::map<std::int64_t, std::vector<std::int64_t>>;

Buckets buckets_of(const LaunchArgs& args, const SelectedTensors& tensors, const RowIndex& rows,
                   TokenSpan* spans) {
  Buckets buckets;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const SelectedRow row = rows[i];
    const std::int64_t count =
        row_spans(tensors.ranges, row.q_row, row.kv_head, row.position, spans);
    const std::int64_t length = length_of({spans, static_cast<std::size_t>(count)});
    expects(length <= longest_row(args.problem), "ranges with n l' tokens or less in a row");
    buckets[length].push_back(i);
  }
  return buckets;
}

template <class T>
struct Launch {
  const LaunchArgs& args;
  SelectedTensors tensors;
  PackedCopies<T> memory;
  RowIndex rows;
  CopySource<T> source;

  /// Copies row `number` to place `at` of its chunk and attends.
  void attend(std::int64_t number, std::int64_t at, std::int64_t length) const {
    const Problem& p = args.problem;
    TokenSpan* spans = memory.copy.my_spans(p);
    CopiedRow<T> row{rows[number], length, length};
    const std::int64_t count =
        row_spans(tensors.ranges, row.row.q_row, row.row.kv_head, row.row.position, spans);
    row.k = memory.copy.copies.data() + at * copy_elements(p, length);
    row.v = row.k + row.ld() * p.head_dim_k;
    copy_spans(source.of(row.row), {spans, static_cast<std::size_t>(count)}, row);
    attend_copied(args, tensors, row, memory.copy);
  }
};

template <class T>
void run(const LaunchArgs& args) {
  const Problem& p = args.problem;
  const SelectedTensors tensors = SelectedTensors::of(args);
  const auto memory = PackedCopies<T>::layout(args.workspace, p, args.sequences);
  const RowIndex rows(args.sequences, p.kv_heads);
  const Launch<T> launch{args, tensors, memory, rows, pack_source<T>(args, tensors, memory.packed)};
  for (const auto& [length, bucket] : buckets_of(args, tensors, rows, memory.copy.spans.data())) {
    const auto size = static_cast<std::int64_t>(bucket.size());
    const std::int64_t chunk = rows_per_chunk<T>(p, longest_row(p));
    args.workspace.note_need({.sel_pack_n = std::min(size, chunk), .sel_pack_l = length});
    for (std::int64_t first = 0; first < size; first += chunk) {
      parallel_for(0, std::min(chunk, size - first), 4, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i) {
          launch.attend(bucket[static_cast<std::size_t>(first + i)], i, length);
        }
      });
    }
  }
}

}  // namespace

void selected_packed(const LaunchArgs& args) {
  with_compute_type(args.problem.dtype, [&]<class T>() { run<T>(args); });
}

}  // namespace nsa::cpu
