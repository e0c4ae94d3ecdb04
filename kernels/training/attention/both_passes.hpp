// Attention in both passes, alone and with a layer's projections around it: what a training step
// runs, and what a launch of both passes of a composite is.
#pragma once

#include "training/saved.hpp"
#include "training/stages.hpp"

namespace nsa::training {

/// NSA over `raw`, rows that are pooled, and the projected rows in `saved`, or dense attention over
/// these; writes the rest of `saved`.
void forward_attention(const StageContext& step, const GateWeights& weights, const KvTensors& raw,
                       LayerSaved& saved);
/// Its backward pass: from the gradient of saved.o to those of q, of the projected rows (cmp: of
/// `raw`; cmp and win absent: dense) and of the gate's weights, which are added to where `add`.
void backward_attention(const StageContext& step, const GateWeights& weights, LayerSaved& saved,
                        const TensorView& d_o, const AttentionTensors& gradients, bool add);

/// y = attention of x, both [tokens, model_dim]; writes what take_attention() took, and the blocks.
void forward_attention_layer(const StageContext& step, const LayerWeights& weights,
                             const TensorView& x, LayerSaved& saved, const TensorView& y);
/// Its backward pass: from d_y to d_x and the gradients of the weights, which are added to where
/// `add`.
void backward_attention_layer(const StageContext& step, const LayerWeights& weights,
                              const TensorView& x, LayerSaved& saved, const TensorView& d_y,
                              const TensorView& d_x, const LayerWeights& gradients, bool add);

/// Launch functions of the rows of Stage::attention and Stage::layer that compute both passes.
void launch_attention(const LaunchArgs& args);
void launch_layer(const LaunchArgs& args);
/// The same, by stages that are launched so.
void launch_attention(const LaunchArgs& args, const StageRunner& stages);
void launch_layer(const LaunchArgs& args, const StageRunner& stages);

}  // namespace nsa::training
