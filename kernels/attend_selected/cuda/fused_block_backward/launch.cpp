// The backward pass of attend_selected by blocks: a block of keys stays, and the queries that chose
// it pass by, so that one set of logits serves the gradients of K, of V and of q.
#include <cuda_runtime_api.h>

#include "attend_selected/cuda/fused_block_backward/lists.hpp"
#include "attend_selected/cuda/fused_block_backward/plan.hpp"
#include "attend_selected/cuda/fused_block_backward/sum_queries.hpp"
#include "cuda/backward/launch.hpp"
#include "nsa/schemas/cuda_error.hpp"

namespace nsa::cuda {
namespace {

ListParams list_params(const BackwardParams& p, const SelectedBackwardPlan& plan,
                       Workspace& workspace) {
  ListParams lists;
  lists.backward = p;
  lists.words = static_cast<int>(plan.words);
  lists.run_queries = static_cast<int>(plan.run_queries);
  lists.bits = workspace.take<std::uint32_t>(plan.word_count()).data();
  lists.counts = workspace.take<int>(plan.list_count()).data();
  lists.before = workspace.take<int>(plan.word_count()).data();
  lists.picked = workspace.take<unsigned char>(plan.picked_count()).data();
  ListedItems& items = lists.items;
  items.tile_keys = plan.tile.keys;
  items.tiles_of_block = static_cast<int>(plan.tiles_of_block);
  items.blocks_of_sequence = static_cast<int>(plan.blocks_of_sequence);
  items.table = static_cast<int>(plan.table);
  items.most_runs = static_cast<int>(plan.most_runs);
  items.runs = workspace.take<ListedRun>(plan.run_count()).data();
  items.first_run = workspace.take<int>(plan.first_run_count()).data();
  items.entries = workspace.take<std::int32_t>(plan.entry_count()).data();
  items.most_entries = plan.most_entries;
  return lists;
}

KeyOutputs key_outputs(const SelectedBackwardPlan& plan, bool atomic, Workspace& workspace) {
  KeyOutputs out;
  out.query = atomic ? QueryGradient::atomic : QueryGradient::partial;
  out.picks = static_cast<int>(plan.picks);
  out.tiles_of_block = static_cast<int>(plan.tiles_of_block);
  out.sums = workspace.take<float>(plan.sum_count()).data();
  void* const queries = workspace.take(static_cast<std::size_t>(plan.partial_bytes()));
  (atomic ? reinterpret_cast<void*&>(out.d_q_sum) : out.partial) = queries;
  return out;
}

BackwardParams backward_params(const LaunchArgs& args) {
  const SelectedBackwardTensors tensors = SelectedBackwardTensors::of(args);
  expects(static_cast<bool>(tensors.blocks), "blocks");
  return make_backward_params(args, tensors);
}

void block_backward(const LaunchArgs& args, bool atomic) {
  const Dtype dtype = args.problem.dtype;
  const SelectedBackwardPlan plan(args.problem, atomic);
  const WorkspaceScope scope(args.workspace);
  const BackwardParams p = backward_params(args);
  make_row_stats(p, dtype, args.stream);
  ListParams lists = list_params(p, plan, args.workspace);
  KeyOutputs out = key_outputs(plan, atomic, args.workspace);
  KeyTotals totals;
  if (plan.chunks > 1) totals.totals = args.workspace.take<float>(plan.total_count()).data();
  if (atomic)
    NSA_CUDA(cudaMemsetAsync(out.d_q_sum, 0, static_cast<std::size_t>(plan.partial_bytes()),
                             args.stream));
  for (std::int64_t chunk = 0; chunk < plan.chunks; ++chunk) {
    lists.first_token = out.first_token = chunk * plan.chunk;
    lists.queries = static_cast<int>(std::min(plan.chunk, p.attend.tokens - out.first_token));
    totals.first = chunk == 0;
    totals.last = chunk + 1 == plan.chunks;
    make_lists(lists, args.stream);
    kListedGradients.of(dtype)(p, lists.items, out, args.stream);
    if (!atomic && p.d_q.data)
      sum_queries(p, out, plan.tile, lists.picked, lists.queries, dtype, args.stream);
    sum_keys(p, lists.items, plan.tile, out.sums, totals, dtype, args.stream);
  }
  if (atomic && p.d_q.data) put_queries(p, out, plan.tile, dtype, args.stream);
}

}  // namespace
}  // namespace nsa::cuda

namespace nsa::attend_selected {
namespace {

void launch_partial(const LaunchArgs& args) { cuda::block_backward(args, false); }
void launch_atomic(const LaunchArgs& args) { cuda::block_backward(args, true); }

}  // namespace

extern constinit const LaunchFunction kCudaFusedBlockBackward = launch_partial;
extern constinit const LaunchFunction kCudaAtomicBackward = launch_atomic;

}  // namespace nsa::attend_selected
