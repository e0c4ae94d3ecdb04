// Both passes of a whole model as one launch: a batch of a training step, without the optimizer.
#include "operands/composite.hpp"
#include "training/arenas.hpp"
#include "training/pass.hpp"
#include "training/passes.hpp"

namespace nsa::training {

void launch_model(const LaunchArgs& args) {
  const ModelPassesTensors tensors = ModelPassesTensors::of(args);
  const Passes passes(args, launching(args));
  const Context& context = passes.step().context;
  const bool cpu = context.router->inputs().device.backend == Backend::cpu;
  TrainingConfig config;
  config.model = passes.config();
  config.batch = 1;  // the loss is the mean over all tokens, whatever their sequences
  config.seq_len = args.problem.total_tokens();
  const std::size_t bytes = kept_bytes(config.model, passes.step().forward);
  Piece piece(args.workspace.take(bytes), bytes);
  Workspace kept(piece, bytes);
  const StepContext step{passes.step(), config, cpu ? cpu_training_ops() : cuda_training_ops(),
                         kept};
  const TensorView scalars = make_view(args.workspace.take(sizeof(StepScalars)), Dtype::int32,
                                       {sizeof(StepScalars) / sizeof(std::int32_t)});
  step.ops.zero(context, scalars);
  const ModelWeights weights = bind_weights(config.model, tensors.weights);
  ModelConfig wide = config.model;
  wide.dtype = tensors.d_weights.dtype;
  const ModelWeights gradients = bind_weights(wide, tensors.d_weights);
  // Dense attention has no gradient of what it does not read.
  if (passes.dense()) step.ops.zero(context, tensors.d_weights);
  run_batch(step,
            {.tokens = tensors.tokens,
             .targets = tensors.targets,
             .weights = weights,
             .gradients = gradients,
             .flat_gradients = tensors.d_weights,
             .scalars = static_cast<StepScalars*>(scalars.data)},
            false);
}

}  // namespace nsa::training
