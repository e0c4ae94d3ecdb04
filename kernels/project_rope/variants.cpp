// The stage's rows of the table.
#include "project_rope/variants.hpp"

#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "project_rope/cuda_rows.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr std::array kStages{Stage::project_rope};

}  // namespace

std::span<const Variant> project_rope_variants() {
  static constexpr std::array kRows{
      Variant{.stages = kStages,
              .name = "gemm",
              .dtypes = kAllDtypes,
              .what = "All projections in one BLAS product per tile of tokens, then RoPE per head.",
              .supports = needs_model_dim,
              .cost = project_rope_cost,
              .workspace_bytes = project_rope::gemm_workspace,
              .launch = project_rope::gemm,
              .source_hash = source_hash::project_rope_gemm},
  };
  static const std::vector<Variant> all = both_back_ends(kRows, project_rope::cuda_rows());
  return all;
}

}  // namespace nsa
