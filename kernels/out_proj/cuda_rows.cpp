#include "out_proj/cuda_rows.hpp"

#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "cuda/gemm.hpp"
#include "source_hashes.hpp"

namespace nsa::out_proj {
namespace {

constexpr std::array kStage{Stage::out_proj};

Support supports_gemm(const Problem& p, const Device& device) {
  if (!cuda::gemm_missing().empty()) return Support::no(cuda::gemm_missing());
  return needs_model_dim(p, device);
}

/// The product's, and the packed copy of an o with gaps between its heads.
std::int64_t gemm_bytes(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;
  return p.total_tokens() * p.q_heads * p.head_dim_v * static_cast<std::int64_t>(size_of(p.dtype)) +
         cuda::kGemmWorkspaceBytes + 2 * kAlignment;
}

}  // namespace

std::span<const Variant> cuda_rows() {
  static const std::array kRows = [] {
    Variant gemm{.stages = kStage,
                 .name = "gemm",
                 .backend = Backend::cuda,
                 .role = Role::candidate,
                 .min_compute_capability = 80,
                 .dtypes = kDeviceDtypes,
                 .coordinates = cuda::kAlgorithmCoordinates,
                 .what = "One cuBLASLt product, fp32 sums.",
                 .supports = supports_gemm,
                 .cost = out_proj_cost,
                 .workspace_bytes = gemm_bytes,
                 .launch = kCudaGemm,
                 .source_hash = source_hash::out_proj_cuda_gemm};
    Variant tf32 = gemm;
    tf32.name = "gemm_tf32";
    tf32.role = Role::opt_in;
    tf32.dtypes = dtype_bit(Dtype::fp32);
    tf32.what = "As gemm, operands rounded to TF32 (10 bits) for the tensor cores; fp32 sums.";
    tf32.launch = kCudaGemmTf32;
    return std::array{gemm, tf32};
  }();
  return kRows;
}

}  // namespace nsa::out_proj
