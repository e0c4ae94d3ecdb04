// The stage's rows of the table.
#include "score/variants.hpp"

#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "score/cuda_rows.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr std::array kStages{Stage::score};

}  // namespace

std::span<const Variant> score_variants() {
  static constexpr std::array kRows{
      Variant{.stages = kStages,
              .name = "materialised",
              .dtypes = kAllDtypes,
              .what = "p_cmp of a tile of queries in memory, then p_slc, group sum and top-n.",
              .cost = score_cost,
              .workspace_bytes = score::materialised_workspace,
              .launch = score::materialised,
              .source_hash = source_hash::score_materialised},
      Variant{.stages = kStages,
              .name = "streamed",
              .dtypes = kAllDtypes,
              .what = "Panels of compressed keys with an online softmax; p_cmp is never stored.",
              .cost = score_cost,
              .workspace_bytes = score::streamed_workspace,
              .launch = score::streamed,
              .source_hash = source_hash::score_streamed},
      // Rounding p_cmp to bf16 is right within the rounding of a bf16 problem, not of a finer one.
      Variant{.stages = kStages,
              .name = "p_cmp_bf16",
              .dtypes = dtype_bit(Dtype::bf16),
              .what = "materialised with p_cmp rounded to bf16; top-n in fp32.",
              .cost = score_cost,
              .workspace_bytes = score::materialised_workspace,
              .launch = score::p_cmp_bf16,
              .source_hash = source_hash::score_materialised,
              .precision = Precision::reduced,
              .switch_target = SwitchTarget::p_cmp_mixed},
  };
  static const std::vector<Variant> all = both_back_ends(kRows, score::cuda_rows());
  return all;
}

}  // namespace nsa
