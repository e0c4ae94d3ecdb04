// Which stages a composite is made of.
#pragma once

#include <array>
#include <span>

#include "nsa/kernels/catalog.hpp"

namespace nsa {

inline constexpr std::array kAttentionStages{
    Stage::compress,        Stage::score,         Stage::ranges,      Stage::attend_compressed,
    Stage::attend_selected, Stage::attend_window, Stage::gate_combine};
inline constexpr std::array kLayerStages{
    Stage::project_rope,  Stage::compress,          Stage::score,
    Stage::ranges,        Stage::attend_compressed, Stage::attend_selected,
    Stage::attend_window, Stage::gate_combine,      Stage::out_proj};
inline constexpr std::array kDenseAttentionStages{Stage::attend_window};
inline constexpr std::array kDenseLayerStages{Stage::project_rope, Stage::attend_window,
                                              Stage::out_proj};

/// The stages with rows of their own that a composite row runs: those of `attention`, of `layer`
/// (and of `model`, which is made of layers), or those that dense attention takes; of a row over
/// several stages its own.
inline std::span<const Stage> stages_within(const Variant& composite) noexcept {
  const Stage stage = composite.stages.front();
  if (composite.stages.size() > 1 || stage < Stage::attention) return composite.stages;
  if (stage == Stage::attention) {
    if (composite.plan.dense) return kDenseAttentionStages;
    return kAttentionStages;
  }
  if (composite.plan.dense) return kDenseLayerStages;
  return kLayerStages;
}

}  // namespace nsa
