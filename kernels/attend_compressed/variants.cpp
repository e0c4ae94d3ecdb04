// The compressed branch: rows of the one table.
#include "attend_compressed/variants.hpp"
#include "attend_compressed/cpu_fused.hpp"
#include "attend_compressed/cuda_rows.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "cpu/band_variants.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr Stage kStages[] = {Stage::attend_compressed};

constexpr cpu::BandRows kRows{
    .sdpa_math = {attend_compressed::sdpa_math, attend_compressed::sdpa_math_bytes},
    .fa2_dense = {attend_compressed::fa2_dense, attend_compressed::fa2_dense_bytes},
    .fa2_varlen = {attend_compressed::fa2_varlen, attend_compressed::fa2_varlen_bytes}};
constexpr auto kVariants =
    cpu::band_rows(kStages, attend_compressed_cost, kRows, source_hash::attend_compressed_sdpa_math,
                   source_hash::attend_compressed_fa2);

constexpr Stage kWithScore[] = {Stage::attend_compressed, Stage::score};

constexpr Variant kFused{
    .stages = kWithScore,
    .name = "fused",
    .dtypes = kAllDtypes,
    .what =
        "One BLAS product and one softmax for both stages: p_cmp of a tile of queries in memory "
        "selects the blocks and is multiplied with v_cmp.",
    .cost = attend_compressed_and_score_cost,
    .workspace_bytes = attend_compressed::cpu_fused_workspace,
    .launch = attend_compressed::cpu_fused,
    .source_hash = source_hash::attend_compressed_cpu_fused,
    .rank = 0};

}  // namespace

std::span<const Variant> attend_compressed_variants() {
  static const std::vector<Variant> all = [] {
    std::vector<Variant> rows(kVariants.begin(), kVariants.end());
    rows.push_back(kFused);
    return both_back_ends(rows, attend_compressed::cuda_rows());
  }();
  return all;
}

}  // namespace nsa
