#include "training/passes.hpp"

#include "nsa/kernels/directions.hpp"
#include "runtime/dense.hpp"

namespace nsa::training {
namespace {

Choice chosen_for(const LaunchArgs& args, const Problem& forward) {
  // Layers leave the plan of attention open, but for the dense ones.
  const bool open = args.row.stages.front() != Stage::attention && !args.row.plan.dense;
  return open ? choose_attention(*args.router, forward) : asked_for(args.row);
}

}  // namespace

const StageRunner& launching(const LaunchArgs& args) {
  expects(args.router != nullptr, "a router for the stages that the plan leaves open");
  return ops_of(*args.router);
}

Passes::Passes(const LaunchArgs& args, const StageRunner& stages)
    : held_(args.workspace),
      forward_(in_direction(args.problem, Direction::forward)),
      backward_(in_direction(args.problem, Direction::backward)),
      sequences_{args.sequences, args.device_sequences},
      chosen_(chosen_for(args, forward_)),
      dense_(args.row.plan.dense),
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

ModelConfig Passes::config() const {
  ModelConfig config = config_of(forward_);
  config.attention = dense_ ? AttentionKind::dense : AttentionKind::nsa;
  return config;
}

void Passes::without_nsa(const TensorView& blocks, const GateWeights& d_gate) const {
  for (const TensorView& one : {d_gate.fc1_w, d_gate.fc1_b, d_gate.fc2_w, d_gate.fc2_b})
    step_.stages.fill(step_.context, one, std::byte{0});
  no_blocks(step_.context, blocks);
}

void Passes::zero(const KvTensors& gradients) const {
  for (const TensorView& one : {gradients.k, gradients.v})
    step_.stages.fill(step_.context, one, std::byte{0});
}

}  // namespace nsa::training
