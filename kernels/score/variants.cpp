// Rows of score: which blocks a query selects, q, k_cmp -> blocks (docs/nsa.md 4 and 5).
#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "launches/score.hpp"
#include "score/cpu/variants.hpp"
#include "score/cuda/materialised/workspace.hpp"
#include "source_hashes.hpp"

namespace nsa::score {
namespace {

constexpr Stage kStages[] = {Stage::score};
constexpr StageRows kStage{kStages, score_cost};
constexpr std::string_view kKernels[] = {"::logits_kernel<", "::block_scores_kernel<"};
constexpr unsigned kBf16 = dtype_bit(Dtype::bf16);

Support fits_grid(const Problem& p, const Device&) noexcept {
  if (p.max_compressed() > std::int64_t{0xffff} * 64)
    return Support::no("more than 4,194,240 compressed tokens of a sequence do not fit one launch");
  return Support::yes();
}

std::int64_t workspace_fp32(const Problem& p) { return ChunkSizes(p, 4).bytes; }
std::int64_t workspace_half(const Problem& p) { return ChunkSizes(p, 2).bytes; }

/// A row of the three kernels of `materialised`; all of them are in its folder, one template of the
/// types that p_cmp and the scores are stored in.
constexpr Variant on_gpu(Variant row) {
  row.supports = fits_grid;
  row.source_hash = source_hash::score_cuda_materialised;
  row.kernels = {.own = kKernels};
  return kStage.cuda(row);
}

/// Rounding p_cmp to bf16 is right within the rounding of a bf16 problem, not of a finer one.
constexpr Variant rounding(Variant row) {
  row.dtypes = kBf16;
  row.precision = Precision::reduced;
  return row;
}

}  // namespace
}  // namespace nsa::score

namespace nsa {

std::span<const Variant> score_variants() {
  using namespace score;
  static const std::array kRows{
      kStage.cpu(
          {.name = "materialised",
           .summary = "p_cmp of a tile of queries in memory, then p_slc, group sum and top-n.",
           .workspace_bytes = materialised_workspace,
           .launch = materialised,
           .source_hash = source_hash::score_materialised}),
      kStage.cpu(
          {.name = "streamed",
           .summary = "Panels of compressed keys with an online softmax; p_cmp is never stored.",
           .workspace_bytes = streamed_workspace,
           .launch = streamed,
           .source_hash = source_hash::score_streamed}),
      // In the file of `materialised`: its template with another rounding.
      rounding(kStage.cpu({.name = "p_cmp_bf16",
                           .summary = "materialised with p_cmp rounded to bf16; top-n in fp32.",
                           .workspace_bytes = materialised_workspace,
                           .launch = p_cmp_bf16,
                           .source_hash = source_hash::score_materialised,
                           .switch_target = SwitchTarget::p_cmp_mixed})),
      on_gpu({.name = "materialised",
              .summary =
                  "Logits, p_cmp, block scores and top-n in memory, one kernel each, all in fp32.",
              .workspace_bytes = workspace_fp32,
              .launch = kCudaMaterialised}),
      rounding(
          on_gpu({.name = "p_cmp_bf16",
                  .summary = "materialised with p_cmp stored as bf16; scores and top-n in fp32.",
                  .workspace_bytes = workspace_half,
                  .launch = kCudaPCmpBf16,
                  .switch_target = SwitchTarget::p_cmp_mixed})),
      // fp16 has nothing below 3e-8, so that the least blocks of a steep softmax tie.
      rounding(on_gpu({.name = "p_cmp_fp16",
                       .role = Role::reduced_precision,
                       .summary = "materialised with p_cmp stored as fp16, where less than 3e-8 is "
                                  "nothing; scores and top-n in fp32.",
                       .workspace_bytes = workspace_half,
                       .launch = kCudaPCmpFp16,
                       .switch_target = SwitchTarget::p_cmp_mixed})),
      rounding(on_gpu({.name = "p_slc_bf16",
                       .summary = "materialised with the scores of the selection blocks stored as "
                                  "bf16; top-n in fp32.",
                       .workspace_bytes = workspace_fp32,
                       .launch = kCudaPSlcBf16,
                       .switch_target = SwitchTarget::p_slc_mixed})),
  };
  return kRows;
}

}  // namespace nsa
