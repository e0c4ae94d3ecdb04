// Rows of ranges: block ids -> token ranges, by the rules of docs/nsa.md 6: ids that are negative,
// out of range, repeated or in the query's future are skipped; neighbours are merged.
#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "launches/ranges.hpp"
#include "ranges/cpu/variants.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr Stage kStages[] = {Stage::ranges};
constexpr StageRows kStage{kStages, ranges_cost};

/// Two numbers per id.
std::int64_t merge_workspace(const Problem& p) {
  return 8 * p.total_tokens() * p.kv_heads * p.geometry.sel_count + 2 * 256;
}

}  // namespace

std::span<const Variant> ranges_variants() {
  static const std::array kRows{
      kStage.cpu({.name = "ranges_v1",
                  .summary = "Element loop over the block ids, one thread: the users' first "
                             "converter.",
                  .workspace_bytes = no_workspace,
                  .launch = ranges::v1,
                  .source_hash = source_hash::ranges_v1,
                  .rank = 1,
                  .switch_target = SwitchTarget::ranges_v1}),
      kStage.cpu(
          {.name = "ranges_v2",
           .summary = "Run starts, running counts and a scatter over whole rows, all threads.",
           .workspace_bytes = ranges::v2_workspace,
           .launch = ranges::v2,
           .source_hash = source_hash::ranges_v2,
           .rank = 0,
           .switch_target = SwitchTarget::ranges_v2}),
      kStage.cuda({.name = "ranges_v1",
                   .dtypes = kAllDtypes,
                   .summary =
                       "A loop on the host that waits for the device at every block id, as the "
                       "users' first converter did.",
                   .launch = ranges::kCudaRangesV1,
                   .source_hash = source_hash::ranges_cuda_v1,
                   .rank = 1,
                   .kernels = {.host_only = true},
                   .waits_for_host = true,
                   .switch_target = SwitchTarget::ranges_v1}),
      kStage.cuda({.name = "ranges_v2",
                   .dtypes = kAllDtypes,
                   .summary = "One kernel, a warp per row; never waits for the device.",
                   .launch = ranges::kCudaRangesV2,
                   .source_hash = source_hash::ranges_cuda_v2,
                   .rank = 0,
                   .switch_target = SwitchTarget::ranges_v2}),
      kStage.cuda({.name = "gpu_merge",
                   .dtypes = kAllDtypes,
                   .summary =
                       "Run starts, running counts and a scatter as kernels of their own, with "
                       "arrays in memory between them, as tensor operations would.",
                   .workspace_bytes = merge_workspace,
                   .launch = ranges::kCudaGpuMerge,
                   .source_hash = source_hash::ranges_cuda_gpu_merge}),
  };
  return kRows;
}

}  // namespace nsa
