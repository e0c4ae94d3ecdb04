// Both passes of attention, or of a layer, as one launch, by the plan of its row.
#include "training/attention/both_passes.hpp"
#include "training/passes.hpp"

namespace nsa::training {
void launch_attention(const LaunchArgs& args) { launch_attention(args, launching()); }
void launch_layer(const LaunchArgs& args) { launch_layer(args, launching()); }

void launch_attention(const LaunchArgs& args, const StageRunner& stages) {
  const auto &in = args.in, &out = args.out;
  const Passes passes(args, stages);
  LayerSaved saved;
  saved.q = in[0];
  saved.sel = {.k = in[3], .v = in[4]};
  saved.win = {.k = in[5], .v = in[6]};
  saved.blocks = out[1];
  saved.o = out[0];
  take_between(args.workspace, passes.config(), passes.step().forward, saved);
  const GateWeights gate{.fc1_w = in[7], .fc1_b = in[8], .fc2_w = in[9], .fc2_b = in[10]};
  AttentionTensors gradients;
  gradients.q = out[2];
  gradients.sel = {.k = out[5], .v = out[6]};
  if (!passes.dense()) {
    gradients.cmp = {.k = out[3], .v = out[4]};
    gradients.win = {.k = out[7], .v = out[8]};
    gradients.gate = {.fc1_w = out[9], .fc1_b = out[10], .fc2_w = out[11], .fc2_b = out[12]};
  }
  forward_attention(passes.step(), gate, {.k = in[1], .v = in[2]}, saved);
  backward_attention(passes.step(), gate, saved, in[11], gradients, false);
  constexpr std::size_t kUnread[] = {3, 4, 7, 8, 9, 10, 11, 12};
  if (passes.dense()) passes.without_nsa(kUnread);
}

void launch_layer(const LaunchArgs& args, const StageRunner& stages) {
  const auto &in = args.in, &out = args.out;
  const Passes passes(args, stages);
  LayerSaved saved;
  if (!passes.dense()) saved.blocks = out[1];
  take_attention(args.workspace, passes.config(), passes.step().forward, saved);
  const LayerWeights weights{
      .w_qkv = in[1],
      .gate = {.fc1_w = in[2], .fc1_b = in[3], .fc2_w = in[4], .fc2_b = in[5]},
      .w_o = in[6]};
  const LayerWeights gradients{
      .w_qkv = out[3],
      .gate = {.fc1_w = out[4], .fc1_b = out[5], .fc2_w = out[6], .fc2_b = out[7]},
      .w_o = out[8]};
  forward_attention_layer(passes.step(), weights, in[0], saved, out[0]);
  backward_attention_layer(passes.step(), weights, in[0], saved, in[7], out[2], gradients, false);
  constexpr std::size_t kOfGate[] = {4, 5, 6, 7};
  if (passes.dense()) passes.without_nsa(kOfGate);
}

}  // namespace nsa::training
