// What a backward pass does around the launches that take a row (query and KV head) at a time.
#pragma once

#include <cuda_runtime_api.h>

#include "attend_selected/cuda/gather_backward/launch.hpp"
#include "cuda/backward/put_keys.hpp"
#include "cuda/backward/tile.hpp"
#include "nsa/schemas/cuda_error.hpp"

namespace nsa::attend_selected {

/// `run(params, rows)` launches what the rows give; before it sums are 0, after it they are
/// written.
template <class Run>
void gradients_of_rows(const LaunchArgs& args, Run run) {
  const SelectedBackwardTensors tensors = SelectedBackwardTensors::of(args);
  expects(static_cast<bool>(tensors.ranges), "ranges");
  const Dtype dtype = args.problem.dtype;
  const cuda::BackwardTile tile = cuda::backward_tile(args.problem);
  const WorkspaceScope scope(args.workspace);
  const cuda::BackwardParams p = cuda::make_backward_params(args, tensors);
  cuda::make_row_stats(p, dtype, args.stream);
  cuda::GatherRows rows{0, p.attend.tokens * p.attend.kv_heads};
  if (p.d_k.data || p.d_v.data) {
    const std::int64_t numbers = p.attend.context_tokens * p.attend.kv_heads * tile.width();
    rows.sums = args.workspace.take<float>(numbers).data();
    NSA_CUDA(cudaMemsetAsync(rows.sums, 0, static_cast<std::size_t>(4 * numbers), args.stream));
  }
  run(p, rows);
  if (rows.sums) cuda::put_keys(p, rows.sums, tile.width_k, tile.width_v, dtype, args.stream);
}

}  // namespace nsa::attend_selected
