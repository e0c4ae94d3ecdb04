// The two launches of `fused_block`.
#pragma once

#include "attend_selected/cuda/fused_block/kernel.cuh"
#include "attend_selected/cuda/fused_block/launch.hpp"
#include "cuda/ptx/sm90_device.hpp"

namespace nsa::cuda {

/// Everything but the addresses of the workspace.
inline BlockParams block_params(const AttendParams& p, const BlockPlan& plan, Dtype dtype) {
  return {.maps = make_key_maps(p, dtype, kBlockKeys),
          .attend = p,
          .chunk = static_cast<int>(plan.chunk),
          .stages = static_cast<int>(plan.stages),
          .ring = static_cast<int>(plan.ring),
          .lag = static_cast<int>(plan.lag),
          .blocks_of_sequence = static_cast<int>(plan.blocks_of_sequence),
          .table = static_cast<int>(plan.table),
          .tile_queries = static_cast<int>(plan.tile_queries),
          .item_queries = static_cast<int>(plan.item_queries),
          .item_cap = static_cast<int>(plan.item_cap)};
}

template <class T>
void take_block_workspace(BlockParams& b, const BlockPlan& plan, Workspace& workspace) {
  b.near = workspace.take<int>(plan.near_count()).data();
  b.entries = workspace.take<int>(plan.entry_count()).data();
  b.items = workspace.take<BlockItem>(plan.item_count()).data();
  b.item_counts = workspace.take<int>(plan.counter_count()).data();
  b.items_done = b.item_counts + plan.stages;
  b.tiles_done = b.items_done + plan.stages;
  b.ticket = b.tiles_done + plan.stages;
  const std::int64_t rows = plan.partial_rows() * b.attend.group;
  b.partial_o = workspace.take<T>(rows * b.attend.dv).data();
  b.partial_lse = workspace.take<float>(rows).data();
}

template <class Sizes>
void launch_block_sizes(const AttendParams& p, const BlockPlan& plan, const LaunchArgs& args) {
  const WorkspaceScope scope(args.workspace);
  BlockParams b = block_params(p, plan, args.problem.dtype);
  take_block_workspace<typename Sizes::Storage>(b, plan, args.workspace);
  launch_block_lists(b, args.stream);
  launch_pdl(fused_block_kernel<Sizes>, std::int64_t{multiprocessors()} * Sizes::kBlocks,
             Sizes::kThreads, BlockShared<Sizes>::kBytes, args.stream, b);
}

/// Stages of keys and thread blocks per SM: what registers and shared memory allow.
template <class T>
bool launch_fused_block(const AttendParams& p, const BlockPlan& plan, const LaunchArgs& args) {
  if (!on_hopper()) return false;
  if (whole_vectors(p, 64, 64))
    return launch_block_sizes<BlockSizes<T, 64, 64, 2, 4>>(p, plan, args), true;
  if (whole_vectors(p, 128, 128))
    return launch_block_sizes<BlockSizes<T, 128, 128, 1, 3>>(p, plan, args), true;
  return false;
}

}  // namespace nsa::cuda
