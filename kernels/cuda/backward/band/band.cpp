#include "cuda/backward/band/band.hpp"

#include "cuda/backward/band/plan.hpp"
#include "cuda/backward/hopper.hpp"
#include "cuda/backward/items.hpp"
#include "cuda/backward/launch.hpp"

namespace nsa::cuda {
namespace {

BandItems band_items(const BandPlan& plan, Branch branch) {
  BandItems items;
  items.compressed = branch == Branch::cmp;
  items.tile_keys = static_cast<int>(plan.tile_keys);
  items.tiles = static_cast<int>(plan.tiles);
  items.segment = static_cast<int>(plan.segment);
  items.segments = static_cast<int>(plan.segments);
  return items;
}

KeyBand band_of(const Geometry& g, Branch branch) {
  if (branch == Branch::cmp)
    return {.block = static_cast<int>(g.cmp_block), .stride = static_cast<int>(g.cmp_stride)};
  return {.window = static_cast<int>(g.window)};
}

}  // namespace

void band_backward(const LaunchArgs& args, Branch branch) {
  const BandBackwardTensors tensors = BandBackwardTensors::of(args, branch);
  const Problem& problem = args.problem;
  const Dtype dtype = problem.dtype;
  const BackwardTile tile = backward_tile(problem);
  const WorkspaceScope scope(args.workspace);
  BackwardParams p = make_backward_params(
      args, tensors,
      make_band_params(args,
                       {.q = tensors.q, .kv = tensors.kv, .o = tensors.o, .lse = tensors.lse}));
  p.band = band_of(problem.geometry, branch);
  make_row_stats(p, dtype, args.stream);
  const BandPlan plan = band_plan(problem, branch, runs_on_hopper(p, dtype));
  const BandItems items = band_items(plan, branch);
  if (p.d_k.data || p.d_v.data) {
    KeyOutputs out;
    out.sums = args.workspace.take<float>(plan.sum_numbers(problem)).data();
    kBandKeyGradients.of(dtype)(p, items, out, args.stream);
    sum_keys(p, items, tile, out.sums, dtype, args.stream);
  }
  if (p.d_q.data) kQueryGradient.of(dtype)(p, items, args.stream);
}

}  // namespace nsa::cuda
