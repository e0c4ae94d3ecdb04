// The backward pass of attend_selected as dense attention with a mask: O(S^2), in no list and no
// order, so that it is what lists have to beat at short lengths.
#include "attend_selected/cuda/masked_backward/launch.hpp"

#include "attend_selected/cuda/masked_backward/plan.hpp"
#include "attend_selected/cuda/masked_backward/sum.hpp"
#include "cuda/launch/typed_kernels.hpp"

namespace nsa::attend_selected {
namespace {

constexpr cuda::TypedKernels kKeys{cuda::masked_keys_fp32, cuda::masked_keys_bf16,
                                   cuda::masked_keys_fp16};
constexpr cuda::TypedKernels kQueries{cuda::masked_queries_fp32, cuda::masked_queries_bf16,
                                      cuda::masked_queries_fp16};

void launch_masked_backward(const LaunchArgs& args) {
  const SelectedBackwardTensors tensors = SelectedBackwardTensors::of(args);
  expects(static_cast<bool>(tensors.blocks), "blocks");
  const Problem& problem = args.problem;
  const Dtype dtype = problem.dtype;
  const cuda::MaskedBackwardPlan plan(problem);
  const WorkspaceScope scope(args.workspace);
  const cuda::BackwardParams p = cuda::make_backward_params(args, tensors);
  cuda::make_row_stats(p, dtype, args.stream);
  if (p.d_k.data || p.d_v.data) {
    cuda::MaskedItems items;
    items.tile_keys = plan.tile.keys;
    items.tiles_of_block = static_cast<int>(plan.tiles_of_block);
    items.tiles_of_sequence = static_cast<int>(plan.tiles_of_sequence);
    items.segment = static_cast<int>(plan.segment);
    items.segments = static_cast<int>(plan.segments);
    items.batch = problem.batch();
    float* const sums = args.workspace.take<float>(plan.sum_numbers()).data();
    kKeys.of(dtype)(p, items, sums, args.stream);
    cuda::sum_masked_keys(p, items, plan.tile, sums, dtype, args.stream);
  }
  if (p.d_q.data) kQueries.of(dtype)(p, args.stream);
}

}  // namespace

extern constinit const LaunchFunction kCudaMaskedBackward = launch_masked_backward;

}  // namespace nsa::attend_selected
