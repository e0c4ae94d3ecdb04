// Both passes of attention, or of a layer, as one launch, by the plan of its row.
#include "nsa/kernels/directions.hpp"
#include "runtime/dense.hpp"
#include "runtime/stage.hpp"
#include "training/attention/both_passes.hpp"

namespace nsa::training {
namespace {

Choice chosen_for(const LaunchArgs& args, const Problem& forward) {
  expects(args.router != nullptr, "a router for the stages that the plan leaves open");
  // A layer leaves the plan of attention open, but for the dense ones.
  const bool open = args.row.stages.front() != Stage::attention && !args.row.plan.dense;
  return open ? choose_attention(*args.router, forward) : asked_for(args.row);
}

/// What the stages of one launch share.
class Passes {
 public:
  Passes(const LaunchArgs& args, const StageRunner& stages)
      : held_(args.workspace),
        forward_(in_direction(args.problem, Direction::forward)),
        backward_(in_direction(args.problem, Direction::backward)),
        sequences_{args.sequences, args.device_sequences},
        chosen_(chosen_for(args, forward_)),
        dense_(args.row.plan.dense),
        out_(args.out),
        step_{.context = {.router = args.router,
                          .workspace = &args.workspace,
                          .stream = args.stream,
                          .options = args.options,
                          .within = &chosen_},
              .forward = forward_,
              .backward = backward_,
              .sequences = sequences_,
              .stages = stages,
              .deterministic = args.row.deterministic} {}
  Passes(const Passes&) = delete;
  Passes& operator=(const Passes&) = delete;

  const StageContext& step() const { return step_; }
  bool dense() const { return dense_; }
  ModelConfig config() const {
    ModelConfig config = config_of(forward_);
    config.attention = dense_ ? AttentionKind::dense : AttentionKind::nsa;
    return config;
  }
  /// Dense attention selects no blocks, and these gradients are zero.
  void without_nsa(std::span<const std::size_t> gradients) const {
    for (const std::size_t one : gradients) step_.stages.zero(step_.context, out_[one]);
    no_blocks(step_.context, out_[1]);
  }

 private:
  WorkspaceScope held_;
  Problem forward_, backward_;
  PlacedSequences sequences_;
  Choice chosen_;
  bool dense_;
  std::span<const TensorView> out_;
  StageContext step_;
};

}  // namespace

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
