// `varlen_v2` on a GPU: kernels list and copy what the rows selected.
#include <algorithm>

#include "attend_selected/cuda/packed_rows/packed_launch.hpp"
#include "attend_selected/cuda/packed_rows/plan.hpp"
#include "attend_selected/cuda/packed_rows/rows.hpp"
#include "cuda/launch/coordinate.hpp"

namespace nsa::cuda {
namespace {

/// Lists and copies made by kernels, for as many keys as rows can have, so that nobody waits.
void attend_varlen_v2(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  PackedLaunch launch(args);
  const std::int64_t chunk = packed_rows_at_once(args.problem, launch.bound());
  auto* lengths = args.workspace.take<std::int32_t>(launch.rows()).data();
  PackedRow* list = launch.take_list(chunk);
  measure_rows(launch.params(), lengths, args.stream);
  for (std::int64_t first = 0; first < launch.rows(); first += chunk) {
    const WorkspaceScope copies(args.workspace);
    const std::int64_t count = std::min(chunk, launch.rows() - first);
    list_rows(lengths, first, count, launch.bound(), list, args.stream);
    const std::int64_t keys = count * launch.bound();  // at most: nobody waits to know it exactly
    args.workspace.note_need({.varlen_n = count, .varlen_k = keys});
    launch.take_copies(keys, coordinate(args, kReserveKeys, 0));
    launch.pack(list, count);
    launch.attend(list, count);
  }
}

}  // namespace
}  // namespace nsa::cuda

namespace nsa::attend_selected {

extern constinit const LaunchFunction kCudaVarlenV2 = cuda::attend_varlen_v2;

}  // namespace nsa::attend_selected
