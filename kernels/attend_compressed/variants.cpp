// The compressed branch on the CPU: rows of the one table.
#include <array>

#include "attend_compressed/cuda_flash_rows.hpp"
#include "attend_compressed/cuda_rows.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "cpu/band_variants.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

using Launch = cpu::BandLaunch<cpu::BandKind::compressed>;
using cpu::Layout;

constexpr Stage kStages[] = {Stage::attend_compressed};

constexpr Variant row(std::string_view name, std::string_view what,
                      std::int64_t (*bytes)(const Problem&), void (*launch)(const LaunchArgs&),
                      std::string_view hash) {
  return {.stages = kStages,
          .name = name,
          .backend = Backend::cpu,
          .role = Role::candidate,
          .min_compute_capability = 0,
          .dtypes = kAllDtypes,
          .coordinates = {},
          .what = what,
          .supports = cpu::supports_forward,
          .cost = attend_compressed_cost,
          .workspace_bytes = bytes,
          .launch = launch,
          .source_hash = hash};
}

constexpr std::array kVariants{
    row("sdpa_math", "GEMM, softmax, GEMM with the BLAS over the band of a tile of tokens.",
        Launch::math_bytes, Launch::math, source_hash::attend_compressed_sdpa_math),
    row("fa2_dense", "Blocked online softmax; every sequence padded to the longest of the batch.",
        Launch::blocked_bytes<Layout::dense>, Launch::blocked<Layout::dense>,
        source_hash::attend_compressed_fa2),
    row("fa2_varlen", "Blocked online softmax; sequences packed by their lengths.",
        Launch::blocked_bytes<Layout::varlen>, Launch::blocked<Layout::varlen>,
        source_hash::attend_compressed_fa2),
};

}  // namespace

std::span<const Variant> attend_compressed_variants() {
  static const std::vector<Variant> all =
      both_back_ends(both_back_ends(kVariants, attend_compressed::cuda_flash_rows()),
                     attend_compressed::cuda_rows());
  return all;
}

}  // namespace nsa
