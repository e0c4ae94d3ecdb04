// Rows of out_proj: o [tokens, q_heads, head_dim_v], w_o -> y [tokens, model_dim].
#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "cuda/gemm/rows.hpp"
#include "launches/out_proj.hpp"
#include "out_proj/cpu/variants.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr Stage kStages[] = {Stage::out_proj};
constexpr StageRows kStage{kStages, out_proj_cost, out_proj_backward_cost};

/// The product's, and the packed copy of an o with gaps between its heads.
std::int64_t gemm_bytes(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;
  return p.total_tokens() * p.q_heads * p.head_dim_v * static_cast<std::int64_t>(size_of(p.dtype)) +
         cuda::kGemmWorkspaceBytes + 2 * kAlignment;
}

/// The product's, and packed copies of an o and its gradient, which may be in fp32.
std::int64_t backward_gemm_bytes(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;
  const std::int64_t bytes = static_cast<std::int64_t>(size_of(p.dtype)) + 4;
  return p.total_tokens() * p.q_heads * p.head_dim_v * bytes + cuda::kGemmWorkspaceBytes +
         3 * kAlignment;
}

}  // namespace

std::span<const Variant> out_proj_variants() {
  static const Variant kGemm =
      kStage.cuda(cuda::gemm_row({.summary = "One cuBLASLt product, fp32 sums.",
                                  .supports = needs_model_dim,
                                  .workspace_bytes = gemm_bytes,
                                  .launch = out_proj::kCudaGemm,
                                  .source_hash = source_hash::out_proj_cuda_gemm}));
  static const std::array kRows{
      kStage.cpu(
          {.name = "gemm",
           .summary = "One BLAS product per tile of tokens; 16-bit storage is converted to fp32.",
           .supports = needs_model_dim,
           .workspace_bytes = out_proj::gemm_workspace,
           .launch = out_proj::gemm,
           .source_hash = source_hash::out_proj_gemm}),
      kGemm,
      cuda::gemm_tf32_row(
          kGemm, "As gemm, operands rounded to TF32 (10 bits) for the tensor cores; fp32 sums.",
          out_proj::kCudaGemmTf32),
      kStage.cpu_backward(
          {.name = "gemm",
           .summary =
               "Two BLAS products for a tile of tokens; 16-bit storage is converted to fp32.",
           .supports = needs_model_dim,
           .workspace_bytes = out_proj::backward_gemm_workspace,
           .launch = out_proj::backward_gemm,
           .source_hash = source_hash::out_proj_backward_gemm}),
      kStage.cuda_backward(
          cuda::gemm_row({.summary = "Two cuBLASLt products, fp32 sums.",
                          .supports = needs_model_dim,
                          .workspace_bytes = backward_gemm_bytes,
                          .launch = out_proj::kCudaGemmBackward,
                          .source_hash = source_hash::out_proj_cuda_gemm_backward})),
  };
  return kRows;
}

}  // namespace nsa
