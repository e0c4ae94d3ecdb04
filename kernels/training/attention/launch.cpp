// Both passes of attention as one launch, by the plan of its row.
#include "nsa/kernels/directions.hpp"
#include "runtime/dense.hpp"
#include "runtime/stage.hpp"
#include "training/attention/both_passes.hpp"

namespace nsa::training {
namespace {

/// Dense attention reads q, K and V of the selected branch; the other gradients are zero.
void zero_unread(const StageContext& step, std::span<const TensorView> out) {
  for (const std::size_t unread : {3, 4, 7, 8, 9, 10, 11, 12})
    step.stages.zero(step.context, out[unread]);
  no_blocks(step.context, out[1]);
}

}  // namespace

void launch_attention(const LaunchArgs& args) { launch_attention(args, launching()); }

void launch_attention(const LaunchArgs& args, const StageRunner& stages) {
  expects(args.router != nullptr, "a router for the stages that the plan leaves open");
  const auto &in = args.in, &out = args.out;
  const bool dense = args.row.plan.dense;
  const Choice chosen = asked_for(args.row);
  const Problem forward = in_direction(args.problem, Direction::forward);
  const Problem backward = in_direction(args.problem, Direction::backward);
  const PlacedSequences sequences{args.sequences, args.device_sequences};
  const WorkspaceScope held(args.workspace);
  const StageContext step{.context = {.router = args.router,
                                      .workspace = &args.workspace,
                                      .stream = args.stream,
                                      .options = args.options,
                                      .within = &chosen},
                          .forward = forward,
                          .backward = backward,
                          .sequences = sequences,
                          .stages = stages,
                          .deterministic = args.row.deterministic};
  ModelConfig config = config_of(args.problem);
  config.attention = dense ? AttentionKind::dense : AttentionKind::nsa;
  LayerSaved saved;
  saved.q = in[0];
  saved.sel = {.k = in[3], .v = in[4]};
  saved.win = {.k = in[5], .v = in[6]};
  saved.blocks = out[1];
  saved.o = out[0];
  take_between(args.workspace, config, forward, saved);
  const GateWeights gate{.fc1_w = in[7], .fc1_b = in[8], .fc2_w = in[9], .fc2_b = in[10]};
  AttentionTensors gradients;
  gradients.q = out[2];
  gradients.sel = {.k = out[5], .v = out[6]};
  if (!dense) {
    gradients.cmp = {.k = out[3], .v = out[4]};
    gradients.win = {.k = out[7], .v = out[8]};
    gradients.gate = {.fc1_w = out[9], .fc1_b = out[10], .fc2_w = out[11], .fc2_b = out[12]};
  }
  forward_attention(step, gate, {.k = in[1], .v = in[2]}, saved);
  backward_attention(step, gate, saved, in[11], gradients, false);
  if (dense) zero_unread(step, out);
}

}  // namespace nsa::training
