// Names of the users' paths.
#include <array>

#include "nsa/schemas/env_names.hpp"

namespace nsa {
namespace {

constexpr std::array<std::string_view, 18> kNames{
    "none",      "ranges_v1",  "ranges_v2", "p_cmp_mixed", "p_slc_mixed", "masked",
    "packed",    "varlen_v1",  "varlen_v2", "gather",      "ranges",      "triton",
    "fa2_dense", "fa2_varlen", "sdpa",      "gate_fused",  "batched",     "sequential"};

}  // namespace

std::string_view to_string(SwitchTarget value) noexcept {
  return kNames[static_cast<std::size_t>(value)];
}

std::optional<SwitchTarget> switch_target_of(std::string_view name) noexcept {
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<SwitchTarget>(i);
  }
  return std::nullopt;
}

}  // namespace nsa
