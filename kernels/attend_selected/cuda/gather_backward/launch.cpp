// The backward pass of attend_selected a row (query and KV head) at a time: all of them in one
// launch, or, as the users' row loop, each in a launch of its own after a wait for its ranges.
#include "attend_selected/cuda/gather_backward/launch.hpp"

#include <cuda_runtime_api.h>

#include "attend_selected/cuda/rows/host_ranges.hpp"
#include "cuda/backward/put_keys.hpp"
#include "cuda/backward/tile.hpp"
#include "cuda/launch/typed_kernels.hpp"
#include "nsa/schemas/cuda_error.hpp"

namespace nsa::attend_selected {
namespace {

constexpr cuda::TypedKernels kGather{cuda::gather_gradients_fp32, cuda::gather_gradients_bf16,
                                     cuda::gather_gradients_fp16};

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

void launch_gather_backward(const LaunchArgs& args) {
  gradients_of_rows(args, [&](const cuda::BackwardParams& p, const cuda::GatherRows& rows) {
    kGather.of(args.problem.dtype)(p, rows, args.stream);
  });
}

void launch_ranges_backward(const LaunchArgs& args) {
  gradients_of_rows(args, [&](const cuda::BackwardParams& p, const cuda::GatherRows& rows) {
    for (const Sequence& s : args.sequences) {
      for (std::int64_t token = s.q_begin; token < s.q_begin + s.q_len; ++token) {
        for (int kv_head = 0; kv_head < p.attend.kv_heads; ++kv_head) {
          const auto ranges = cuda::read_ranges(p.attend, token, kv_head, s.kv_len, args.stream);
          expects(cuda::total_keys(ranges) <= s.kv_len, "ranges of keys that exist");
          kGather.of(args.problem.dtype)(p, {token * p.attend.kv_heads + kv_head, 1, rows.sums},
                                         args.stream);
        }
      }
    }
  });
}

}  // namespace

extern constinit const LaunchFunction kCudaGatherBackward = launch_gather_backward;
extern constinit const LaunchFunction kCudaRangesBackward = launch_ranges_backward;

}  // namespace nsa::attend_selected
