// Tensors of the composites by name, of the forward pass and of both.
#pragma once

#include <span>

#include "nsa/kernels/runtime.hpp"

namespace nsa {

/// attention: its 11 inputs, or their gradients. Without o and blocks.
inline AttentionTensors attention_inputs(std::span<const TensorView> tensors) {
  expects(tensors.size() == 11, "q, K and V of the three branches, the gate's weights");
  const auto& t = tensors;
  return {.q = t[0],
          .cmp = {.k = t[1], .v = t[2]},
          .sel = {.k = t[3], .v = t[4]},
          .win = {.k = t[5], .v = t[6]},
          .gate = {.fc1_w = t[7], .fc1_b = t[8], .fc2_w = t[9], .fc2_b = t[10]},
          .o = {},
          .blocks = {}};
}

/// attention, forward.
inline AttentionTensors attention_tensors(const LaunchArgs& args) {
  expects(args.out.size() == 2, "o and the blocks");
  AttentionTensors tensors = attention_inputs(args.in);
  tensors.o = args.out[0];
  tensors.blocks = args.out[1];
  return tensors;
}

/// attention, both passes.
struct AttentionPassesTensors {
  AttentionTensors forward;    // with o and blocks
  TensorView d_o;              // [tokens, q_heads, head_dim_v]
  AttentionTensors gradients;  // out, of the 11 inputs

  static AttentionPassesTensors of(const LaunchArgs& args) {
    const auto &in = args.in, &out = args.out;
    expects(in.size() == 12 && out.size() == 13,
            "the inputs of attention and d_o; o, blocks and the gradients of the inputs");
    AttentionPassesTensors tensors{.forward = attention_inputs(in.first(11)),
                                   .d_o = in[11],
                                   .gradients = attention_inputs(out.subspan(2))};
    tensors.forward.o = out[0];
    tensors.forward.blocks = out[1];
    return tensors;
  }
};

/// layer: its 7 inputs, or their gradients.
struct LayerInputs {
  TensorView x;  // [tokens, model_dim]
  LayerWeights weights;

  static LayerInputs of(std::span<const TensorView> tensors) {
    expects(tensors.size() == 7, "x, w_qkv, the gate's weights, w_o");
    const auto& t = tensors;
    return {.x = t[0],
            .weights = {.w_qkv = t[1],
                        .gate = {.fc1_w = t[2], .fc1_b = t[3], .fc2_w = t[4], .fc2_b = t[5]},
                        .w_o = t[6]}};
  }
};

/// layer, forward.
struct LayerTensors {
  LayerInputs in;
  TensorView y;       // out [tokens, model_dim]
  TensorView blocks;  // out [tokens, kv_heads, sel_count] int32

  static LayerTensors of(const LaunchArgs& args) {
    expects(args.out.size() == 2, "y and the blocks");
    return {.in = LayerInputs::of(args.in), .y = args.out[0], .blocks = args.out[1]};
  }
};

/// layer, both passes.
struct LayerPassesTensors {
  LayerTensors forward;
  TensorView d_y;         // [tokens, model_dim]
  LayerInputs gradients;  // out, of the 7 inputs

  static LayerPassesTensors of(const LaunchArgs& args) {
    const auto &in = args.in, &out = args.out;
    expects(in.size() == 8 && out.size() == 9,
            "the inputs of a layer and d_y; y, blocks and the gradients of the inputs");
    return {.forward = {.in = LayerInputs::of(in.first(7)), .y = out[0], .blocks = out[1]},
            .d_y = in[7],
            .gradients = LayerInputs::of(out.subspan(2))};
  }
};

/// model, forward.
struct ModelTensors {
  TensorView tokens;   // [tokens] int32
  TensorView weights;  // [parameters], for bind_weights()
  TensorView logits;   // out [tokens, vocab_size]

  static ModelTensors of(const LaunchArgs& args) {
    expects(args.in.size() == 2 && args.out.size() == 1, "tokens and weights, and the logits");
    return {.tokens = args.in[0], .weights = args.in[1], .logits = args.out[0]};
  }
};

/// model, both passes.
struct ModelPassesTensors {
  TensorView tokens, targets;  // [tokens] int32
  TensorView weights;          // [parameters], for bind_weights()
  TensorView d_weights;        // out [parameters], fp32 or fp64

  static ModelPassesTensors of(const LaunchArgs& args) {
    expects(args.in.size() == 3 && args.out.size() == 1,
            "tokens, targets and weights, and the gradients of the weights");
    return {.tokens = args.in[0],
            .targets = args.in[1],
            .weights = args.in[2],
            .d_weights = args.out[0]};
  }
};

}  // namespace nsa
