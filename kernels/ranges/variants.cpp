// The stage's rows of the table.
#include "ranges/variants.hpp"

#include <array>

#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "catalog/stages.hpp"
#include "ranges/cuda_rows.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

constexpr std::array kStages{Stage::ranges};

}  // namespace

std::span<const Variant> ranges_variants() {
  static constexpr std::array kRows{
      Variant{.stages = kStages,
              .name = "ranges_v1",
              .dtypes = kAllDtypes,
              .what = "Element loop over the block ids, one thread: the users' first converter.",
              .cost = ranges_cost,
              .workspace_bytes = no_workspace,
              .launch = ranges::v1,
              .source_hash = source_hash::ranges_v1,
              .rank = 1,
              .switch_target = SwitchTarget::ranges_v1},
      Variant{.stages = kStages,
              .name = "ranges_v2",
              .dtypes = kAllDtypes,
              .what = "Run starts, running counts and a scatter over whole rows, all threads.",
              .cost = ranges_cost,
              .workspace_bytes = ranges::v2_workspace,
              .launch = ranges::v2,
              .source_hash = source_hash::ranges_v2,
              .rank = 0,
              .switch_target = SwitchTarget::ranges_v2},
  };
  static const std::vector<Variant> all = both_back_ends(kRows, ranges::cuda_rows());
  return all;
}

}  // namespace nsa
