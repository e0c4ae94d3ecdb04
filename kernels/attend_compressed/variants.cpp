// Rows of attend_compressed, q, k_cmp, v_cmp -> o_cmp, and those that select the blocks too.
#include <vector>

#include "attend_compressed/cpu/fused.hpp"
#include "attend_compressed/cuda/fused_score/shape.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "cpu/band/rows.hpp"
#include "cuda/backward/rows.hpp"
#include "cuda/flash/band_support.hpp"
#include "launches/attend_compressed.hpp"
#include "source_hashes.hpp"
#include "vendor/rows.hpp"

namespace nsa::attend_compressed {
namespace {

constexpr Stage kStages[] = {Stage::attend_compressed};
constexpr Stage kStagesWithScore[] = {Stage::attend_compressed, Stage::score};
constexpr StageRows kStage{kStages, attend_compressed_cost, attend_compressed_backward_cost};
constexpr StageRows kWithScore{kStagesWithScore, attend_compressed_and_score_cost};
constexpr std::string_view kBandKernels[] = {"CompressedBand"};
constexpr std::string_view kFusedKernels[] = {"nsa::cuda::compressed::"};

constexpr auto kCpuRows = cpu::band_rows<cpu::BandKind::compressed>(kStage);
constexpr auto kCpuBackwardRows = cpu::band_backward_rows<cpu::BandKind::compressed>(kStage);

Support supports_fused(const Problem& p, const Device& device) noexcept {
  const Support hopper = needs_hopper(device);
  if (!hopper.supported) return hopper;
  if (cuda::fused_queries(p) == 0)
    return Support::no(
        "built for 6 query heads per KV head with head dims of 64, and for 16 with 128 or 192/128");
  const Geometry &g = p.geometry, &built = cuda::kFusedGeometry;
  if (g.cmp_block != built.cmp_block || g.cmp_stride != built.cmp_stride ||
      g.sel_block != built.sel_block)
    return Support::no("built for cmp_block 32, cmp_stride 16 and sel_block 64");
  if (num_blocks(p.max_kv_len(), g) > cuda::kFusedMaxBlocks)
    return Support::no("sequences over 131,072 tokens have more blocks than a warp holds");
  if (p.total_tokens() * p.kv_heads > 0x7fffffff)
    return Support::no("more than 2^31 rows of blocks do not fit one launch; split the batch");
  return Support::yes();
}

std::int64_t workspace(const Problem& p) {
  if (cuda::fused_queries(p) == 0) return 0;  // not supported
  return cuda::fused_workspace(p);
}

/// The branch alone.
Variant band_row() {
  return kStage.cuda(cuda::band_row(
      {.summary =
           "One kernel that visits only the compressed keys so far; the heads of a group are "
           "rows of one tile, tensor cores for bf16 and fp16.",
       .launch = kCudaFused,
       .source_hash = source_hash::attend_compressed_cuda_fused,
       .kernels = {.own = kBandKernels}}));
}

/// The branch and the selection at once.
std::vector<Variant> rows_with_score() {
  return {
      kWithScore.cpu({.name = "fused",
                      .summary = "One BLAS product and one softmax for both stages: p_cmp of a "
                                 "tile of queries in memory selects the blocks and is multiplied "
                                 "with v_cmp.",
                      .workspace_bytes = cpu_fused_workspace,
                      .launch = cpu_fused,
                      .source_hash = source_hash::attend_compressed_cpu_fused,
                      .rank = 0}),
      kWithScore.cuda({.name = "fused",
                       .min_compute_capability = 90,
                       .dtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16),
                       .summary = "Attention to the compressed keys by WGMMA that "
                                  "writes the scores of the selection blocks on the way, then "
                                  "top-n; no second product.",
                       .supports = supports_fused,
                       .workspace_bytes = workspace,
                       .launch = kCudaFusedScore,
                       .source_hash = source_hash::attend_compressed_cuda_fused_score,
                       .rank = 0,
                       .kernels = {.own = kFusedKernels}})};
}

}  // namespace
}  // namespace nsa::attend_compressed

namespace nsa {

std::span<const Variant> attend_compressed_variants() {
  using namespace attend_compressed;
  static const std::vector<Variant> kRows = [] {
    std::vector<Variant> rows(kCpuRows.begin(), kCpuRows.end());
    const std::vector<Variant> vendors = vendor::branch_rows(vendor::Band::compressed, kStage);
    const std::vector<Variant> with_score = rows_with_score();
    rows.push_back(with_score[0]);
    rows.push_back(band_row());
    rows.insert(rows.end(), vendors.begin(), vendors.end());
    rows.push_back(with_score[1]);
    rows.insert(rows.end(), kCpuBackwardRows.begin(), kCpuBackwardRows.end());
    rows.push_back(cuda::band_backward_row(
        kStage, {.workspace_bytes =
                     [](const Problem& p) { return cuda::band_backward_bytes(p, Branch::cmp); },
                 .launch = attend_compressed::kCudaFusedBackward,
                 .source_hash = source_hash::attend_compressed_cuda_fused_backward}));
    return rows;
  }();
  return kRows;
}

}  // namespace nsa
