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

}  // namespace

void launch_attention(const LaunchArgs& args) {
  const Context context = context_of(args);
  const Choice chosen = asked_for(args.row);
  const AttentionTensors tensors = attention_tensors(args);
  if (!args.row.plan.dense) return attention_by(context, chosen, args.problem, tensors, args.saved);
  dense_attention(within(context, chosen), args.problem, tensors);
  no_blocks(context, tensors.blocks);
}

void launch_layer(const LaunchArgs& args) {
  const Context context = context_of(args);
  const LayerTensors tensors = LayerTensors::of(args);
  layer_by(context, asked_for(args.row), args.problem,
           {.x = tensors.in.x,
            .weights = tensors.in.weights,
            .y = tensors.y,
            .blocks = tensors.blocks,
            .kind = kind_of(args)});
  if (args.row.plan.dense) no_blocks(context, tensors.blocks);
}

void launch_model(const LaunchArgs& args) {
  ModelConfig config = config_of(args.problem);
  config.attention = kind_of(args);
  const ModelTensors tensors = ModelTensors::of(args);
  model_by(context_of(args), asked_for(args.row), config, args.problem,
           {.weights = bind_weights(config, tensors.weights),
            .tokens = tensors.tokens,
            .logits = tensors.logits});
}

}  // namespace nsa
