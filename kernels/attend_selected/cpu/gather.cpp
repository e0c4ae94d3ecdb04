// gather: K and V of all rows copied, every row padded to the longest, one masked batched attention
// (the users' first kernel), in chunks of rows so that memory does not grow with S^2.
#include "attend_selected/cpu/copied_rows.hpp"

namespace nsa::cpu {
namespace {

template <class T>
void run(const LaunchArgs& args) {
  const Problem& p = args.problem;
  const SelectedTensors tensors = SelectedTensors::of(args);
  const auto memory = PackedCopies<T>::layout(args.workspace, p, args.sequences);
  const CopySource<T> source = pack_source<T>(args, tensors, memory.packed);
  const RowIndex rows(args.sequences, p.kv_heads);
  const std::int64_t padded = longest_row(p), size = copy_elements(p, padded);
  const std::int64_t chunk = rows_per_chunk<T>(p, padded);
  std::vector<CopiedRow<T>> copied(static_cast<std::size_t>(chunk));
  for (std::int64_t first = 0; first < rows.size(); first += chunk) {
    const std::int64_t count = std::min(chunk, rows.size() - first);
    parallel_for(0, count, 4, [&](std::int64_t from, std::int64_t to) {
      TokenSpan* spans = memory.copy.my_spans(p);
      for (std::int64_t i = from; i < to; ++i) {
        CopiedRow<T>& row = copied[static_cast<std::size_t>(i)];
        row.row = rows[first + i];
        const std::int64_t spans_count =
            row_spans(tensors.ranges, row.row.q_row, row.row.kv_head, row.row.position, spans);
        const std::span<const TokenSpan> own(spans, static_cast<std::size_t>(spans_count));
        row.length = length_of(own);
        expects(row.length <= padded, "ranges with n l' tokens or less in a row");
        row.padded = padded;
        row.k = memory.copy.copies.data() + i * size;
        row.v = row.k + row.ld() * p.head_dim_k;
        copy_spans(source.of(row.row), own, row);
      }
    });
    parallel_for(0, count, 4, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) {
        attend_copied(args, tensors, copied[static_cast<std::size_t>(i)], memory.copy);
      }
    });
  }
}

}  // namespace

void selected_gather(const LaunchArgs& args) {
  with_compute_type(args.problem.dtype, [&]<class T>() { run<T>(args); });
}

}  // namespace nsa::cpu
