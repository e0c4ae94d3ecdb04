// A layer of NSA in plain PyTorch, found in the order of its operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "operator_kinds.hpp"

namespace nsa::trace {

enum class LayerStage : std::uint8_t {
  none,
  project_rope,
  compress,
  pcmp,
  pslc,
  topk,
  ranges,
  attend_selected,
  attend_window,
  gate_combine,
  out_proj
};
std::string_view to_text(LayerStage stage);

/// Operators [first, end) are of a stage.
struct Stretch {
  bool operator==(const Stretch&) const = default;
  LayerStage stage;
  std::size_t first, end;
};

/// `operators`: those of one thread that are in no other operator, in order. Nothing is said unless
/// the whole selection of NSA is there: between a projection and an attention, with neither of them
/// inside, two poolings (K and V), a product with a softmax (scores of what was pooled), a
/// scatter_add (from pooled rows to blocks) and a topk, each once and in this order. Other stages
/// are looked for around it, each by marks of its own; what has none stays out.
std::vector<Stretch> nsa_stretches(std::span<const OperatorKind> operators);

}  // namespace nsa::trace
