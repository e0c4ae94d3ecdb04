// Tensors of the composites by name: inputs, and in the same order the gradients of both passes.
#pragma once

#include <span>

#include "nsa/kernels/runtime.hpp"

namespace nsa {

/// attention: its 11 inputs, or their gradients, from the first of `tensors` on. Without o and
/// blocks.
inline AttentionTensors attention_inputs(std::span<const TensorView> tensors) {
  expects(tensors.size() >= 11, "q, K and V of the three branches, the gate's weights");
  const auto& t = tensors;
  return {.q = t[0],
          .cmp = {.k = t[1], .v = t[2]},
          .sel = {.k = t[3], .v = t[4]},
          .win = {.k = t[5], .v = t[6]},
          .gate = {.fc1_w = t[7], .fc1_b = t[8], .fc2_w = t[9], .fc2_b = t[10]},
          .o = {},
          .blocks = {}};
}

/// layer: its 7 inputs, or their gradients, likewise.
struct LayerInputs {
  TensorView x;  // [tokens, model_dim]
  LayerWeights weights;

  static LayerInputs of(std::span<const TensorView> tensors) {
    expects(tensors.size() >= 7, "x, w_qkv, the gate's weights, w_o");
    const auto& t = tensors;
    return {.x = t[0],
            .weights = {.w_qkv = t[1],
                        .gate = {.fc1_w = t[2], .fc1_b = t[3], .fc2_w = t[4], .fc2_b = t[5]},
                        .w_o = t[6]}};
  }
};

}  // namespace nsa
