// Both passes of a whole model as one launch: a batch of a training step, without the optimizer.
#include "training/arenas.hpp"
#include "training/pass.hpp"
#include "training/passes.hpp"

namespace nsa::training {

void launch_model(const LaunchArgs& args) {
  const Passes passes(args, launching());
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
  const ModelWeights weights = bind_weights(config.model, args.in[2]);
  ModelConfig wide = config.model;
  wide.dtype = args.out[0].dtype;
  const ModelWeights gradients = bind_weights(wide, args.out[0]);
  // Dense attention has no gradient of what it does not read.
  if (passes.dense()) step.ops.zero(context, args.out[0]);
  run_batch(step,
            {.tokens = args.in[0],
             .targets = args.in[1],
             .weights = weights,
             .gradients = gradients,
             .flat_gradients = args.out[0],
             .scalars = static_cast<StepScalars*>(scalars.data)},
            false);
}

}  // namespace nsa::training
