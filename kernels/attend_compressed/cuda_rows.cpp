#include "attend_compressed/cuda_rows.hpp"

#include <array>
#include <string>

#include "attend_compressed/cuda_fused_shape.hpp"
#include "attend_compressed/cuda_launch.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "cuda/flash/band_support.hpp"
#include "source_hashes.hpp"
#include "vendor/rows.hpp"

namespace nsa::attend_compressed {
namespace {

constexpr std::array kStage{Stage::attend_compressed};
constexpr std::array kStages{Stage::attend_compressed, Stage::score};
constexpr std::array kBandKernels{std::string_view("CompressedBand")};
constexpr std::array kFusedKernels{std::string_view("nsa::cuda::compressed::")};

Support supports_fused(const Problem& p, const Device& device) noexcept {
  const int capability = device.compute_capability.value_or(0);
  if (capability != 90)
    return Support::no("its warpgroup products exist on compute capability 9.0 only, ", device.id,
                       " has ", capability);
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

}  // namespace

std::span<const Variant> cuda_rows() {
  static const std::vector<Variant> rows = [] {
    std::vector<Variant> all{cuda::band_row(
        kStage,
        "One kernel that visits only the compressed keys so far; the heads of a group are rows of "
        "one tile, tensor cores for bf16 and fp16.",
        attend_compressed_cost, kCudaFlash, source_hash::attend_compressed_cuda_flash,
        kBandKernels)};
    for (const Variant& row :
         vendor::branch_rows(vendor::Band::compressed, kStage, attend_compressed_cost)) {
      all.push_back(row);
    }
    all.push_back({.stages = kStages,
                   .name = "fused",
                   .backend = Backend::cuda,
                   .role = Role::candidate,
                   .min_compute_capability = 90,
                   .dtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16),
                   .what =
                       "Attention to the compressed keys by warpgroup products that writes the "
                       "scores of the selection blocks on the way, then top-n; no second product.",
                   .supports = supports_fused,
                   .cost = attend_compressed_and_score_cost,
                   .workspace_bytes = workspace,
                   .launch = kCudaFused,
                   .source_hash = source_hash::attend_compressed_cuda_fused,
                   .rank = 0,
                   .kernels = {.own = kFusedKernels}});
    return all;
  }();
  return rows;
}

}  // namespace nsa::attend_compressed
