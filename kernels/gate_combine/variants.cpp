// The stage's rows of the table.
#include "gate_combine/variants.hpp"

#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "gate_combine/cuda_rows.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr std::array kStages{Stage::gate_combine};

}  // namespace

std::span<const Variant> gate_combine_variants() {
  static constexpr std::array kRows{
      Variant{.stages = kStages,
              .name = "three_steps",
              .dtypes = kAllDtypes,
              .what = "Mean query, gate and combination as three passes with results in memory "
                      "between them.",
              .cost = gate_combine_cost,
              .workspace_bytes = gate_combine::three_steps_workspace,
              .launch = gate_combine::three_steps,
              .source_hash = source_hash::gate_combine_three_steps},
      Variant{.stages = kStages,
              .name = "gate_fused",
              .dtypes = kAllDtypes,
              .what = "Mean query, gate and combination of a row in one pass.",
              .cost = gate_combine_cost,
              .workspace_bytes = gate_combine::gate_fused_workspace,
              .launch = gate_combine::gate_fused,
              .source_hash = source_hash::gate_combine_gate_fused,
              .rank = 0,
              .switch_target = SwitchTarget::gate_fused},
  };
  static const std::vector<Variant> all = both_back_ends(kRows, gate_combine::cuda_rows());
  return all;
}

}  // namespace nsa
