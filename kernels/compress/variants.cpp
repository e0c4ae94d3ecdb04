// The stage's rows of the table.
#include "compress/variants.hpp"

#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "compress/cuda_rows.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr std::array kStages{Stage::compress};

}  // namespace

std::span<const Variant> compress_variants() {
  static constexpr std::array kRows{
      Variant{.stages = kStages,
              .name = "avg",
              .dtypes = kAllDtypes,
              .what = "The mean of l rows of K and of V.",
              .cost = compress_cost,
              .workspace_bytes = compress::avg_workspace,
              .launch = compress::avg,
              .source_hash = source_hash::compress_avg},
  };
  static const std::vector<Variant> all = both_back_ends(kRows, compress::cuda_rows());
  return all;
}

}  // namespace nsa
