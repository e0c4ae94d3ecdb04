// `kv_expanded`: `masked` over copies of K and V, one per query head.
#include <cstddef>
#include <vector>

#include "attend_selected/cuda/masked/launch.hpp"
#include "cuda/memory/copy_rows.hpp"

namespace nsa::attend_selected {
namespace {

/// A view of every group's head `head` in [tokens, q_heads, dim].
TensorView every_group(const TensorView& expanded, std::int64_t group, std::int64_t head) {
  TensorView view = expanded;
  view.data = static_cast<std::byte*>(expanded.data) +
              static_cast<std::size_t>(head * expanded.stride[1]) * size_of(expanded.dtype);
  view.shape[1] /= group;
  view.stride[1] *= group;
  return view;
}

/// Room for a copy of `from` [rows, kv_heads, dim] per query head, and what fills it.
TensorView expand(const TensorView& from, const LaunchArgs& args,
                  std::vector<cuda::TensorCopy>& copies) {
  const std::int64_t group = args.problem.heads_per_group();
  TensorView to =
      make_view(nullptr, from.dtype, {from.shape[0], args.problem.q_heads, from.shape[2]});
  to.data = args.workspace.take(to.bytes());
  for (std::int64_t h = 0; h < group; ++h) copies.push_back({from, every_group(to, group, h)});
  return to;
}

void launch_kv_expanded(const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  SelectedTensors tensors = SelectedTensors::of(args);
  std::vector<cuda::TensorCopy> copies;
  tensors.kv.k = expand(tensors.kv.k, args, copies);
  tensors.kv.v = expand(tensors.kv.v, args, copies);
  cuda::copy_tensors(copies, args.stream);
  cuda::AttendParams params = cuda::make_attend_params(args, tensors);
  params.kv_heads = static_cast<int>(args.problem.q_heads);
  params.group = 1;
  params.ranges_share = static_cast<int>(args.problem.heads_per_group());
  cuda::kMasked.of(args.problem.dtype)(params, args.stream);
}

}  // namespace

extern constinit const LaunchFunction kCudaKvExpanded = launch_kv_expanded;

}  // namespace nsa::attend_selected
