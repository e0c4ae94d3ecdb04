// The selected branch on the CPU: what its variants get, and the launch function of each.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::cpu {

/// Tensors of one launch, by name. Of blocks and ranges one may be absent where the variant needs
/// the other only.
struct SelectedTensors {
  TensorView q, k, v, blocks, ranges, out, lse;
};
inline SelectedTensors selected_tensors(const LaunchArgs& args) {
  const SelectedTensors tensors{args.in[0],
                                args.in[1],
                                args.in[2],
                                args.in[3],
                                args.in[4],
                                args.out[0],
                                args.saved != nullptr ? args.saved->lse_sel : TensorView{}};
  const std::int64_t count = args.problem.geometry.sel_count;
  expects(!tensors.blocks || tensors.blocks.shape[2] <= count, "sel_count blocks in a row");
  expects(!tensors.ranges || tensors.ranges.shape[2] <= count, "sel_count ranges in a row");
  return tensors;
}

void selected_masked(const LaunchArgs& args);
void selected_kv_expanded(const LaunchArgs& args);
void selected_ranges(const LaunchArgs& args);
void selected_gather(const LaunchArgs& args);
void selected_packed(const LaunchArgs& args);
void selected_varlen_v1(const LaunchArgs& args);
void selected_varlen_v2(const LaunchArgs& args);
void selected_fused_query(const LaunchArgs& args);
void selected_dense_prefix(const LaunchArgs& args);

std::int64_t selected_masked_bytes(const Problem& problem);
std::int64_t selected_kv_expanded_bytes(const Problem& problem);
std::int64_t selected_ranges_bytes(const Problem& problem);
std::int64_t selected_gather_bytes(const Problem& problem);
std::int64_t selected_packed_bytes(const Problem& problem);
std::int64_t selected_varlen_v1_bytes(const Problem& problem);
std::int64_t selected_varlen_v2_bytes(const Problem& problem);
std::int64_t selected_fused_query_bytes(const Problem& problem);
std::int64_t selected_dense_prefix_bytes(const Problem& problem);

}  // namespace nsa::cpu
