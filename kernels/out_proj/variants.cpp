// The stage's rows of the table.
#include "out_proj/variants.hpp"

#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "out_proj/cuda_rows.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr std::array kStages{Stage::out_proj};

}  // namespace

std::span<const Variant> out_proj_variants() {
  static constexpr std::array kRows{
      Variant{.stages = kStages,
              .name = "gemm",
              .dtypes = kAllDtypes,
              .what = "One BLAS product per tile of tokens; 16-bit storage is converted to fp32.",
              .supports = needs_model_dim,
              .cost = out_proj_cost,
              .workspace_bytes = out_proj::gemm_workspace,
              .launch = out_proj::gemm,
              .source_hash = source_hash::out_proj_gemm},
  };
  static const std::vector<Variant> all = both_back_ends(kRows, out_proj::cuda_rows());
  return all;
}

}  // namespace nsa
