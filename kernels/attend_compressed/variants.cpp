// The compressed branch: rows of the one table.
#include "attend_compressed/cuda_rows.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "cpu/band_variants.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr Stage kStages[] = {Stage::attend_compressed};

constexpr auto kVariants = cpu::band_rows<cpu::BandKind::compressed>(
    kStages, attend_compressed_cost, source_hash::attend_compressed_sdpa_math,
    source_hash::attend_compressed_fa2);

}  // namespace

std::span<const Variant> attend_compressed_variants() {
  static const std::vector<Variant> all = both_back_ends(kVariants, attend_compressed::cuda_rows());
  return all;
}

}  // namespace nsa
