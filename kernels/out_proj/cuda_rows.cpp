#include "out_proj/cuda_rows.hpp"

#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "cuda/gemm/rows.hpp"
#include "out_proj/cuda_launch.hpp"
#include "source_hashes.hpp"

namespace nsa::out_proj {
namespace {

constexpr std::array kStage{Stage::out_proj};

/// The product's, and the packed copy of an o with gaps between its heads.
std::int64_t gemm_bytes(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;
  return p.total_tokens() * p.q_heads * p.head_dim_v * static_cast<std::int64_t>(size_of(p.dtype)) +
         cuda::kGemmWorkspaceBytes + 2 * kAlignment;
}

}  // namespace

std::span<const Variant> cuda_rows() {
  static const std::array kRows = [] {
    Variant gemm = cuda::gemm_row(kStage);
    gemm.what = "One cuBLASLt product, fp32 sums.";
    gemm.supports = needs_model_dim;
    gemm.cost = out_proj_cost;
    gemm.workspace_bytes = gemm_bytes;
    gemm.launch = kCudaGemm;
    gemm.source_hash = source_hash::out_proj_cuda_gemm;
    return std::array{
        gemm, cuda::gemm_tf32_row(gemm,
                                  "As gemm, operands rounded to TF32 (10 bits) for the tensor "
                                  "cores; fp32 sums.",
                                  kCudaGemmTf32)};
  }();
  return kRows;
}

}  // namespace nsa::out_proj
