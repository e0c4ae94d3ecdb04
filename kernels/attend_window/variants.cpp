// The window branch: rows of the one table.
#include "attend_window/cuda_rows.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "cpu/band_variants.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr Stage kStages[] = {Stage::attend_window};

constexpr auto kVariants = cpu::band_rows<cpu::BandKind::window>(
    kStages, attend_window_cost, source_hash::attend_window_sdpa_math,
    source_hash::attend_window_fa2);

}  // namespace

std::span<const Variant> attend_window_variants() {
  static const std::vector<Variant> all = both_back_ends(kVariants, attend_window::cuda_rows());
  return all;
}

}  // namespace nsa
