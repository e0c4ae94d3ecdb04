#include "project_rope/cuda_rows.hpp"

#include <algorithm>
#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "cuda/gemm/rows.hpp"
#include "project_rope/cuda_launch.hpp"
#include "project_rope/cuda_product.hpp"
#include "source_hashes.hpp"

namespace nsa::project_rope {
namespace {

constexpr std::array kStage{Stage::project_rope};
constexpr std::array kRopeKernels{std::string_view("nsa::project_rope::")};
constexpr std::array kFusedKernels{
    std::string_view("nsa::project_rope::(anonymous namespace)::fused_kernel<")};

Support supports_gemm(const Problem& p, const Device& device) noexcept {
  if (p.head_dim_k > 2 * kCudaMaxPairs)
    return Support::no("a head_dim_k over ", 2 * kCudaMaxPairs,
                       " does not fit its table of frequencies");
  return needs_model_dim(p, device);
}

Support supports_fused(const Problem& p, const Device& device) noexcept {
  const int capability = device.compute_capability.value_or(0);
  if (capability != 90)
    return Support::no("its warpgroup products exist on compute capability 9.0 only, ", device.id,
                       " has ", capability);
  if (p.head_dim_k % 8 != 0 || p.head_dim_v % 8 != 0 || p.model.model_dim % 8 != 0)
    return Support::no("built for head dims and model_dim that are multiples of 8");
  return supports_gemm(p, device);
}

template <int kElement>
std::int64_t gemm_bytes(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;
  const std::int64_t tokens = std::min(p.total_tokens(), kCudaTile);
  return kElement * tokens * projected_columns(p) + cuda::kGemmWorkspaceBytes + 2 * kAlignment;
}

}  // namespace

std::span<const Variant> cuda_rows() {
  static const std::array kRows = [] {
    Variant gemm = cuda::gemm_row(kStage);
    gemm.what =
        "All projections in one cuBLASLt product, then one kernel that rotates and spreads them.";
    gemm.supports = supports_gemm;
    gemm.kernels = {.own = kRopeKernels, .helpers = cuda::kProductKernels};
    gemm.cost = project_rope_cost;
    gemm.workspace_bytes = gemm_bytes<4>;
    gemm.launch = kCudaGemm;
    gemm.source_hash = source_hash::project_rope_cuda_gemm;
    Variant rounded = gemm;
    rounded.name = "gemm_16bit";
    rounded.dtypes = dtype_bit(Dtype::bf16) | dtype_bit(Dtype::fp16);
    rounded.what =
        "As gemm, the product rounded to the tensors' 16 bits before RoPE, as in the frameworks.";
    rounded.precision = Precision::reduced;
    rounded.workspace_bytes = gemm_bytes<2>;
    rounded.launch = kCudaGemm16bit;
    Variant fused = rounded;
    fused.name = "fused";
    fused.min_compute_capability = 90;
    fused.coordinates = {};
    fused.what =
        "One kernel: warpgroup products of tiles, whose pairs of columns are turned in registers "
        "before they are rounded and stored.";
    fused.supports = supports_fused;
    fused.precision = Precision::native;
    fused.kernels = {.own = kFusedKernels};
    fused.missing = nullptr;
    fused.launch = kCudaFused;
    fused.source_hash = source_hash::project_rope_cuda_fused;
    return std::array{
        gemm, rounded, fused,
        cuda::gemm_tf32_row(gemm,
                            "As gemm, operands of the product rounded to TF32 (10 bits) for "
                            "the tensor cores; fp32 sums.",
                            kCudaGemmTf32)};
  }();
  return kRows;
}

}  // namespace nsa::project_rope
