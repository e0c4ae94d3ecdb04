#include "project_rope/cuda_rows.hpp"

#include <algorithm>
#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "cuda/gemm.hpp"
#include "source_hashes.hpp"

namespace nsa::project_rope {
namespace {

constexpr std::array kStage{Stage::project_rope};

Support supports_gemm(const Problem& p, const Device& device) {
  if (p.head_dim_k > 2 * kCudaMaxPairs)
    return Support::no("a head_dim_k over " + std::to_string(2 * kCudaMaxPairs) +
                       " does not fit its table of frequencies");
  if (!cuda::gemm_missing().empty()) return Support::no(cuda::gemm_missing());
  return needs_model_dim(p, device);
}

std::int64_t gemm_bytes(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;
  const std::int64_t tokens = std::min(p.total_tokens(), kCudaTile);
  return 4 * tokens * projected_columns(p) + cuda::kGemmWorkspaceBytes + 2 * kAlignment;
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
                 .what =
                     "All projections in one cuBLASLt product, then one kernel that rotates and "
                     "spreads them.",
                 .supports = supports_gemm,
                 .cost = project_rope_cost,
                 .workspace_bytes = gemm_bytes,
                 .launch = kCudaGemm,
                 .source_hash = source_hash::project_rope_cuda_gemm};
    Variant tf32 = gemm;
    tf32.name = "gemm_tf32";
    tf32.role = Role::opt_in;
    tf32.dtypes = dtype_bit(Dtype::fp32);
    tf32.what =
        "As gemm, operands of the product rounded to TF32 (10 bits) for the tensor "
        "cores; fp32 sums.";
    tf32.launch = kCudaGemmTf32;
    return std::array{gemm, tf32};
  }();
  return kRows;
}

}  // namespace nsa::project_rope
