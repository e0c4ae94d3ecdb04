// Rows of gate_combine: the gate over the three branches, q, o_cmp, o_sel, o_win and the gate's
// weights
// -> o.
#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "cuda/flash/band_support.hpp"
#include "gate_combine/cpu/variants.hpp"
#include "gate_combine/cuda/gate/sizes.hpp"
#include "gate_combine/cuda/gate_fused_backward/sizes.hpp"
#include "launches/gate_combine.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr Stage kStages[] = {Stage::gate_combine};
constexpr StageRows kStage{kStages, gate_combine_cost, gate_combine_backward_cost};

Support fits_tile(const Problem& p, const Device&) noexcept {
  if (p.total_tokens() * p.kv_heads > 0x7fffffff)
    return Support::no("more than 2^31 rows do not fit one launch; split the batch");
  if (p.head_dim_k <= cuda::kMaxGateDim) return Support::yes();
  return Support::no("a head_dim_k over ", cuda::kMaxGateDim,
                     " does not fit its tile of mean queries");
}

std::int64_t three_steps_bytes(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;  // of each tensor in the workspace
  const std::int64_t rows = p.total_tokens() * p.kv_heads;
  return 4 * rows * (p.head_dim_k + 3) + 2 * kAlignment;
}

Support fits_backward_tile(const Problem& p, const Device& device) noexcept {
  if (p.total_tokens() * p.kv_heads > 0x7fffffff)
    return Support::no("more than 2^31 rows do not fit one launch; split the batch");
  return cuda::fits_shared_memory(
      4 * gate_combine::gate_backward_floats(p.head_dim_k, gate_combine::hidden_units(p)), device);
}
std::int64_t backward_bytes(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;
  return 4 * gate_combine::kBackwardBlocks *
             gate_combine::gate_gradient_numbers(p.head_dim_k, gate_combine::hidden_units(p)) +
         kAlignment;
}

}  // namespace

std::span<const Variant> gate_combine_variants() {
  static const std::array kRows{
      kStage.cpu({.name = "three_steps",
                  .summary =
                      "Mean query, gate and combination as three passes with results in memory "
                      "between them.",
                  .workspace_bytes = gate_combine::three_steps_workspace,
                  .launch = gate_combine::three_steps,
                  .source_hash = source_hash::gate_combine_three_steps}),
      kStage.cpu({.name = "gate_fused",
                  .summary = "Mean query, gate and combination of a row in one pass.",
                  .workspace_bytes = gate_combine::gate_fused_workspace,
                  .launch = gate_combine::gate_fused,
                  .source_hash = source_hash::gate_combine_gate_fused,
                  .rank = 0,
                  .switch_target = SwitchTarget::gate_fused}),
      kStage.cuda({.name = "three_steps",
                   .summary =
                       "Mean query, gate and combination as three kernels with fp32 results in "
                       "memory between them.",
                   .supports = fits_tile,
                   .workspace_bytes = three_steps_bytes,
                   .launch = gate_combine::kCudaThreeSteps,
                   .source_hash = source_hash::gate_combine_cuda_three_steps}),
      kStage.cuda(
          {.name = "gate_fused",
           .summary =
               "One kernel: a warp for two or four rows, a hidden unit per lane, branches read "
               "while the gate is made.",
           .supports = fits_tile,
           .launch = gate_combine::kCudaGateFused,
           .source_hash = source_hash::gate_combine_cuda_gate_fused,
           .rank = 0,
           .switch_target = SwitchTarget::gate_fused}),
      kStage.cpu_backward({.name = "gate_fused",
                           .summary = "The gate once more and all gradients of a row in one pass; "
                                      "sums of the weights by chunks of rows.",
                           .workspace_bytes = gate_combine::backward_gate_fused_workspace,
                           .launch = gate_combine::backward_gate_fused,
                           .source_hash = source_hash::gate_combine_backward_gate_fused,
                           .rank = 0,
                           .switch_target = SwitchTarget::gate_fused}),
      kStage.cuda_backward(
          {.name = "gate_fused",
           .summary = "One kernel that makes the gates again and all gradients of its rows; those "
                      "of the weights are added up over its blocks in order.",
           .supports = fits_backward_tile,
           .workspace_bytes = backward_bytes,
           .launch = gate_combine::kCudaGateFusedBackward,
           .source_hash = source_hash::gate_combine_cuda_gate_fused_backward,
           .rank = 0,
           .folds_gates = true}),
  };
  return kRows;
}

}  // namespace nsa
