#include "ranges/cuda_rows.hpp"

#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "ranges/cuda_launch.hpp"
#include "source_hashes.hpp"

namespace nsa::ranges {
namespace {

constexpr std::array kStage{Stage::ranges};

/// Two numbers per id.
std::int64_t merge_workspace(const Problem& p) {
  return 8 * p.total_tokens() * p.kv_heads * p.geometry.sel_count + 2 * 256;
}

}  // namespace

std::span<const Variant> cuda_rows() {
  static const std::array kRows{
      Variant{.stages = kStage,
              .name = "ranges_v1",
              .backend = Backend::cuda,
              .role = Role::candidate,
              .min_compute_capability = 80,
              .dtypes = kAllDtypes,
              .what = "A loop on the host that waits for the device at every block id, as the "
                      "seeds' first converter did.",
              .cost = ranges_cost,
              .workspace_bytes = no_workspace,
              .launch = kCudaRangesV1,
              .source_hash = source_hash::ranges_cuda_v1,
              .rank = 1,
              .kernels = {.host_only = true},
              .waits_for_host = true,
              .switch_target = SwitchTarget::ranges_v1},
      Variant{.stages = kStage,
              .name = "ranges_v2",
              .backend = Backend::cuda,
              .role = Role::candidate,
              .min_compute_capability = 80,
              .dtypes = kAllDtypes,
              .what = "One kernel, a warp per row; never waits for the device.",
              .cost = ranges_cost,
              .workspace_bytes = no_workspace,
              .launch = kCudaRangesV2,
              .source_hash = source_hash::ranges_cuda_v2,
              .rank = 0,
              .switch_target = SwitchTarget::ranges_v2},
      Variant{.stages = kStage,
              .name = "gpu_merge",
              .backend = Backend::cuda,
              .role = Role::candidate,
              .min_compute_capability = 80,
              .dtypes = kAllDtypes,
              .what = "Run starts, running counts and a scatter as kernels of their own, with "
                      "arrays in memory between them, as tensor operations would.",
              .cost = ranges_cost,
              .workspace_bytes = merge_workspace,
              .launch = kCudaGpuMerge,
              .source_hash = source_hash::ranges_cuda_gpu_merge},
  };
  return kRows;
}

}  // namespace nsa::ranges
