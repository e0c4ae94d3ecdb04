// Both passes of attention, or of a layer, as one launch, by the plan of its row.
#include "operands/composite.hpp"
#include "training/attention/both_passes.hpp"
#include "training/passes.hpp"

namespace nsa::training {
void launch_attention(const LaunchArgs& args) { launch_attention(args, launching()); }
void launch_layer(const LaunchArgs& args) { launch_layer(args, launching()); }

void launch_attention(const LaunchArgs& args, const StageRunner& stages) {
  const Passes passes(args, stages);
  const AttentionTensors in = attention_inputs(args.in);
  LayerSaved saved;
  saved.q = in.q;
  saved.sel = in.sel;
  saved.win = in.win;
  saved.blocks = args.out[1];
  saved.o = args.out[0];
  take_between(args.workspace, passes.config(), passes.step().forward, saved);
  AttentionTensors gradients = attention_inputs(args.out.subspan(2));
  if (passes.dense()) gradients.cmp = gradients.win = {};
  forward_attention(passes.step(), in.gate, in.cmp, saved);
  backward_attention(passes.step(), in.gate, saved, args.in[11], gradients, false);
  constexpr std::size_t kUnread[] = {3, 4, 7, 8, 9, 10, 11, 12};
  if (passes.dense()) passes.without_nsa(kUnread);
}

void launch_layer(const LaunchArgs& args, const StageRunner& stages) {
  const Passes passes(args, stages);
  LayerSaved saved;
  if (!passes.dense()) saved.blocks = args.out[1];
  take_attention(args.workspace, passes.config(), passes.step().forward, saved);
  const LayerInputs in = LayerInputs::of(args.in), d = LayerInputs::of(args.out.subspan(2));
  forward_attention_layer(passes.step(), in.weights, in.x, saved, args.out[0]);
  backward_attention_layer(passes.step(), in.weights, in.x, saved, args.in[7], d.x, d.weights,
                           false);
  constexpr std::size_t kOfGate[] = {4, 5, 6, 7};
  if (passes.dense()) passes.without_nsa(kOfGate);
}

}  // namespace nsa::training
