#include "runtime/composite/launch.hpp"

#include "nsa/kernels/runtime.hpp"
#include "operands/composite.hpp"
#include "runtime/attention.hpp"
#include "runtime/dense.hpp"
#include "runtime/layer.hpp"

namespace nsa {
namespace {

/// A row follows its plan, and where that leaves a stage open, the router of the launch.
Context context_of(const LaunchArgs& args) {
  expects(args.router != nullptr, "a router for the stages that the plan leaves open");
  Context context;
  context.router = args.router;
  context.workspace = &args.workspace;
  context.stream = args.stream;
  context.options = args.options;
  return context;
}

AttentionKind kind_of(const LaunchArgs& args) {
  return args.row.plan.dense ? AttentionKind::dense : AttentionKind::nsa;
}

AttentionTensors attention_tensors(const LaunchArgs& args) {
  AttentionTensors tensors = attention_inputs(args.in);
  tensors.o = args.out[0];
  tensors.blocks = args.out[1];
  return tensors;
}

}  // namespace

void launch_attention(const LaunchArgs& args) {
  const Context context = context_of(args);
  const Choice chosen = asked_for(args.row);
  if (!args.row.plan.dense) {
    return attention_by(context, chosen, args.problem, attention_tensors(args), args.saved);
  }
  dense_attention(within(context, chosen), args.problem, attention_tensors(args));
  no_blocks(context, args.out[1]);
}

void launch_layer(const LaunchArgs& args) {
  const Context context = context_of(args);
  const LayerInputs in = LayerInputs::of(args.in);
  layer_by(context, asked_for(args.row), args.problem, in.x, in.weights, args.out[0], nullptr,
           kind_of(args), args.out[1]);
  if (args.row.plan.dense) no_blocks(context, args.out[1]);
}

void launch_model(const LaunchArgs& args) {
  ModelConfig config = config_of(args.problem);
  config.attention = kind_of(args);
  model_by(context_of(args), asked_for(args.row), config, args.problem,
           bind_weights(config, args.in[1]), args.in[0], args.out[0], {});
}

}  // namespace nsa
