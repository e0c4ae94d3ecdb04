// The window branch: rows of the one table.
#include "attend_window/variants.hpp"
#include "attend_window/cuda_rows.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "cpu/band_variants.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr Stage kStages[] = {Stage::attend_window};

constexpr cpu::BandRows kRows{
    .sdpa_math = {attend_window::sdpa_math, attend_window::sdpa_math_bytes},
    .fa2_dense = {attend_window::fa2_dense, attend_window::fa2_dense_bytes},
    .fa2_varlen = {attend_window::fa2_varlen, attend_window::fa2_varlen_bytes}};
constexpr auto kVariants =
    cpu::band_rows(kStages, attend_window_cost, kRows, source_hash::attend_window_sdpa_math,
                   source_hash::attend_window_fa2);

}  // namespace

std::span<const Variant> attend_window_variants() {
  static const std::vector<Variant> all = both_back_ends(kVariants, attend_window::cuda_rows());
  return all;
}

}  // namespace nsa
