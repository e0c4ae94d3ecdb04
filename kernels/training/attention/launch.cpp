// Both passes of attention, or of a layer, as one launch, by the plan of its row.
#include "operands/composite.hpp"
#include "training/attention/both_passes.hpp"
#include "training/passes.hpp"

namespace nsa::training {
void launch_attention(const LaunchArgs& args) { launch_attention(args, launching(args)); }
void launch_layer(const LaunchArgs& args) { launch_layer(args, launching(args)); }

void launch_attention(const LaunchArgs& args, const StageRunner& stages) {
  const Passes passes(args, stages);
  const AttentionPassesTensors tensors = AttentionPassesTensors::of(args);
  const AttentionTensors& forward = tensors.forward;
  LayerSaved saved;
  saved.q = forward.q;
  saved.sel = forward.sel;
  saved.win = forward.win;
  saved.blocks = forward.blocks;
  saved.o = forward.o;
  take_between(args.workspace, passes.config(), passes.step().forward, saved);
  AttentionTensors gradients = tensors.gradients;
  if (passes.dense()) gradients.cmp = gradients.win = {};
  forward_attention(passes.step(), forward.gate, forward.cmp, saved);
  backward_attention(passes.step(), forward.gate, saved, tensors.d_o, gradients, false);
  if (!passes.dense()) return;
  passes.without_nsa(forward.blocks, gradients.gate);
  passes.zero(tensors.gradients.cmp);
  passes.zero(tensors.gradients.win);
}

void launch_layer(const LaunchArgs& args, const StageRunner& stages) {
  const Passes passes(args, stages);
  const LayerPassesTensors tensors = LayerPassesTensors::of(args);
  const auto& [in, y, blocks] = tensors.forward;
  const LayerInputs& d = tensors.gradients;
  LayerSaved saved;
  if (!passes.dense()) saved.blocks = blocks;
  take_attention(args.workspace, passes.config(), passes.step().forward, saved);
  forward_attention_layer(passes.step(), in.weights, in.x, saved, y);
  backward_attention_layer(passes.step(), in.weights, in.x, saved, tensors.d_y, d.x, d.weights,
                           false);
  if (passes.dense()) passes.without_nsa(blocks, d.weights.gate);
}

}  // namespace nsa::training
