#include "nsa/kernels/kernel_names.hpp"

#include <array>

namespace nsa {
namespace {

/// "nsa::compress::" of a stage.
std::string_view namespace_of(Stage stage) {
  constexpr std::array<std::string_view, kStageCount> kNames{"nsa::project_rope::",
                                                             "nsa::compress::",
                                                             "nsa::score::",
                                                             "nsa::ranges::",
                                                             "nsa::attend_compressed::",
                                                             "nsa::attend_selected::",
                                                             "nsa::attend_window::",
                                                             "nsa::gate_combine::",
                                                             "nsa::out_proj::",
                                                             "nsa::",
                                                             "nsa::",
                                                             "nsa::"};
  return kNames[static_cast<std::size_t>(stage)];
}

void append(std::vector<std::string_view>& to, std::span<const std::string_view> names) {
  to.insert(to.end(), names.begin(), names.end());
}

}  // namespace

ClaimedKernels claimed_kernels(const Variant& variant) {
  ClaimedKernels claimed;
  for (const Part& part : variant.plan.parts) {
    const ClaimedKernels of_part = claimed_kernels(*part.row);
    append(claimed.own, of_part.own);
    append(claimed.helpers, of_part.helpers);
  }
  if (!variant.plan.parts.empty() || variant.kernels.host_only) return claimed;
  claimed.helpers = {"nsa::cuda::"};
  append(claimed.helpers, variant.kernels.helpers);
  append(claimed.own, variant.kernels.own);
  if (!claimed.own.empty()) return claimed;
  for (const Stage stage : variant.stages) claimed.own.push_back(namespace_of(stage));
  return claimed;
}

}  // namespace nsa
