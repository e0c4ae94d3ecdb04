// `varlen_v1` on a GPU: the host copies row by row what each selected.
#include <vector>

#include "attend_selected/cuda/packed_rows/packed_launch.hpp"
#include "attend_selected/cuda/packed_rows/plan.hpp"
#include "attend_selected/cuda/rows/host_ranges.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cuda {
namespace {

/// A host loop over rows that waits for each row's ranges and copies them run by run, then one
/// attention by where rows begin.
void attend_varlen_v1(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  PackedLaunch launch(args);
  const AttendParams& p = launch.params();
  const std::int64_t chunk = packed_rows_at_once(args.problem, launch.bound());
  launch.take_copies(chunk * launch.bound(), 0);
  PackedRow* list = launch.take_list(chunk);
  std::vector<PackedRow> rows;
  std::int64_t keys = 0;
  const auto flush = [&] {
    if (rows.empty()) return;
    const auto count = static_cast<std::int64_t>(rows.size());
    args.workspace.note_need({.varlen_n = count, .varlen_k = keys});
    launch.upload(list, rows);
    launch.attend(list, count);
    rows.clear();
    keys = 0;
  };
  for (const Sequence& s : args.sequences) {
    for (std::int64_t token = s.q_begin; token < s.q_begin + s.q_len; ++token) {
      for (int kv_head = 0; kv_head < p.kv_heads; ++kv_head) {
        const auto ranges = read_ranges(p, token, kv_head, s.kv_len, args.stream);
        const int length = total_keys(ranges);
        expects(length <= launch.bound(), "ranges of n l' keys or less");
        copy_ranges(p, size_of(args.problem.dtype), s.kv_begin, kv_head, ranges, launch.k_at(keys),
                    launch.v_at(keys), args.stream);
        rows.push_back({keys, static_cast<int>(token * p.kv_heads + kv_head), length});
        keys += length;
        if (static_cast<std::int64_t>(rows.size()) == chunk) flush();
      }
    }
  }
  flush();
}

}  // namespace
}  // namespace nsa::cuda

namespace nsa::attend_selected {

extern constinit const LaunchFunction kCudaVarlenV1 = cuda::attend_varlen_v1;

}  // namespace nsa::attend_selected
