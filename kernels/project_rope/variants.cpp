// Rows of project_rope: x, w_qkv -> q and the three K/V sets of the new tokens, q and K rotated.
#include <algorithm>
#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "cuda/gemm/rows.hpp"
#include "launches/project_rope.hpp"
#include "nsa/kernels/qkv_rows.hpp"
#include "project_rope/cpu/variants.hpp"
#include "project_rope/cuda/gemm/product.hpp"
#include "source_hashes.hpp"

namespace nsa::project_rope {
namespace {

constexpr Stage kStages[] = {Stage::project_rope};
constexpr StageRows kStage{kStages, project_rope_cost, project_rope_backward_cost};
constexpr std::string_view kRopeKernels[] = {"nsa::project_rope::"};
constexpr std::string_view kFusedKernels[] = {
    "nsa::project_rope::(anonymous namespace)::fused_kernel<"};
constexpr unsigned kHalfDtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16);

Support supports_gemm(const Problem& p, const Device& device) noexcept {
  if (p.head_dim_k > 2 * kCudaMaxPairs)
    return Support::no("a head_dim_k over ", 2 * kCudaMaxPairs,
                       " does not fit its table of frequencies");
  return needs_model_dim(p, device);
}

Support supports_fused(const Problem& p, const Device& device) noexcept {
  const Support hopper = needs_hopper(device);
  if (!hopper.supported) return hopper;
  if (p.head_dim_k % 8 != 0 || p.head_dim_v % 8 != 0 || p.model.model_dim % 8 != 0)
    return Support::no("built for head dims and model_dim that are multiples of 8");
  return supports_gemm(p, device);
}

template <int kElement>
std::int64_t gemm_bytes(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;
  const std::int64_t tokens = std::min(p.total_tokens(), kCudaTile);
  return kElement * tokens * qkv_rows(p) + cuda::kGemmWorkspaceBytes + 2 * kAlignment;
}

/// The product in fp32, and what rotates it.
Variant gemm_row() {
  Variant row =
      cuda::gemm_row({.summary = "All projections in one cuBLASLt product, then one kernel "
                                 "that rotates and spreads them.",
                      .supports = supports_gemm,
                      .workspace_bytes = gemm_bytes<4>,
                      .launch = kCudaGemm,
                      .source_hash = source_hash::project_rope_cuda_gemm});
  row.kernels = {.own = kRopeKernels, .helpers = cuda::kProductKernels};
  return kStage.cuda(row);
}

/// In the folder of `gemm`: its launch with a product of another type.
Variant gemm_16bit_row() {
  Variant row = gemm_row();
  row.name = "gemm_16bit";
  row.dtypes = kHalfDtypes;
  row.summary =
      "As gemm, the product rounded to the tensors' 16 bits before RoPE, as in the frameworks.";
  row.precision = Precision::reduced;
  row.workspace_bytes = gemm_bytes<2>;
  row.launch = kCudaGemm16bit;
  return row;
}

std::int64_t backward_gemm_bytes(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;
  return static_cast<std::int64_t>(size_of(p.dtype)) * p.total_tokens() * qkv_rows(p) +
         cuda::kGemmWorkspaceBytes + 2 * kAlignment;
}
Variant backward_gemm_row() {
  Variant row = cuda::gemm_row(
      {.summary = "One kernel that turns the gradients back side by side, then two cuBLASLt "
                  "products.",
       .supports = supports_gemm,
       .workspace_bytes = backward_gemm_bytes,
       .launch = kCudaGemmBackward,
       .source_hash = source_hash::project_rope_cuda_gemm_backward});
  row.kernels = {.own = kRopeKernels, .helpers = cuda::kProductKernels};
  return kStage.cuda_backward(row);
}

}  // namespace
}  // namespace nsa::project_rope

namespace nsa {

std::span<const Variant> project_rope_variants() {
  using namespace project_rope;
  static const std::array kRows{
      kStage.cpu(
          {.name = "gemm",
           .summary = "All projections in one BLAS product per tile of tokens, then RoPE per head.",
           .supports = needs_model_dim,
           .workspace_bytes = gemm_workspace,
           .launch = gemm,
           .source_hash = source_hash::project_rope_gemm}),
      gemm_row(),
      gemm_16bit_row(),
      kStage.cuda({.name = "fused",
                   .min_compute_capability = 90,
                   .dtypes = kHalfDtypes,
                   .summary =
                       "One kernel: WGMMA products of tiles, whose pairs of columns are turned in "
                       "registers before they are rounded and stored.",
                   .supports = supports_fused,
                   .workspace_bytes = gemm_bytes<2>,
                   .launch = kCudaFused,
                   .source_hash = source_hash::project_rope_cuda_fused,
                   .kernels = {.own = kFusedKernels}}),
      cuda::gemm_tf32_row(gemm_row(),
                          "As gemm, operands of the product rounded to TF32 (10 bits) for the "
                          "tensor cores; fp32 sums.",
                          kCudaGemmTf32),
      kStage.cpu_backward(
          {.name = "gemm",
           .summary =
               "Gradients turned back per head, then two BLAS products for a tile of tokens.",
           .supports = needs_model_dim,
           .workspace_bytes = project_rope::backward_gemm_workspace,
           .launch = project_rope::backward_gemm,
           .source_hash = source_hash::project_rope_backward_gemm}),
      backward_gemm_row(),
  };
  return kRows;
}

}  // namespace nsa
