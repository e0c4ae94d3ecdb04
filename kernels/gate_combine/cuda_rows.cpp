#include "gate_combine/cuda_rows.hpp"

#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "gate_combine/cuda_launch.hpp"
#include "gate_combine/cuda_tile.hpp"
#include "source_hashes.hpp"

namespace nsa::gate_combine {
namespace {

constexpr std::array kStage{Stage::gate_combine};

Support fits_tile(const Problem& p, const Device&) noexcept {
  if (p.total_tokens() * p.kv_heads > 0x7fffffff)
    return Support::no("more than 2^31 rows do not fit one launch; split the batch");
  if (p.head_dim_k <= cuda::kMaxGateDim) return Support::yes();
  return Support::no("a head_dim_k over ", cuda::kMaxGateDim,
                     " does not fit its tile of mean queries");
}

constexpr std::int64_t kAlignment = 256;  // of each tensor in the workspace

std::int64_t three_steps_bytes(const Problem& p) {
  const std::int64_t rows = p.total_tokens() * p.kv_heads;
  return 4 * rows * (p.head_dim_k + 3) + 2 * kAlignment;
}

}  // namespace

std::span<const Variant> cuda_rows() {
  static const std::array kRows{
      Variant{.stages = kStage,
              .name = "three_steps",
              .backend = Backend::cuda,
              .role = Role::candidate,
              .min_compute_capability = 80,
              .dtypes = kDeviceDtypes,
              .what = "Mean query, gate and combination as three kernels with fp32 results in "
                      "memory between them.",
              .supports = fits_tile,
              .cost = gate_combine_cost,
              .workspace_bytes = three_steps_bytes,
              .launch = kCudaThreeSteps,
              .source_hash = source_hash::gate_combine_cuda_three_steps},
      Variant{.stages = kStage,
              .name = "gate_fused",
              .backend = Backend::cuda,
              .role = Role::candidate,
              .min_compute_capability = 80,
              .dtypes = kDeviceDtypes,
              .what =
                  "One kernel: a warp for two or four rows, a hidden unit per lane, branches read "
                  "while the gate is made.",
              .supports = fits_tile,
              .cost = gate_combine_cost,
              .workspace_bytes = no_workspace,
              .launch = kCudaGateFused,
              .source_hash = source_hash::gate_combine_cuda_gate_fused,
              .rank = 0,
              .switch_target = SwitchTarget::gate_fused},
  };
  return kRows;
}

}  // namespace nsa::gate_combine
