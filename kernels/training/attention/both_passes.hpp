// Attention between a layer's projections, in both passes: what a training step runs, and what a
// launch of both passes of the composite is.
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

/// Launch function of the rows of Stage::attention that compute both passes.
void launch_attention(const LaunchArgs& args);
/// The same, by stages that are launched so.
void launch_attention(const LaunchArgs& args, const StageRunner& stages);

}  // namespace nsa::training
