#include "training/step.hpp"

#include <algorithm>

namespace nsa::training {

Problem batch_problem(const TrainingConfig& config, Direction direction) {
  const auto batch = static_cast<std::size_t>(config.batch);
  Problem p = problem_of(config.model, std::vector<std::int64_t>(batch, config.seq_len),
                         std::vector<std::int64_t>(batch, 0));
  p.direction = direction;
  return p;
}

KeptBytes run_batches(const StepContext& step, const StepState& state) {
  KeptBytes most;
  for (std::int64_t i = 0; i < step.config.accumulate; ++i) {
    const std::int64_t tokens = step.tokens();
    const BatchTensors batch{.tokens = slice_rows(state.tokens, i * tokens, tokens),
                             .targets = slice_rows(state.targets, i * tokens, tokens),
                             .weights = state.weights,
                             .gradients = state.gradients,
                             .flat_gradients = state.flat.gradients,
                             .scalars = state.scalars};
    const KeptBytes one = run_batch(step, batch, i > 0);
    most.between = std::max(most.between, one.between);
    most.with_gradients = std::max(most.with_gradients, one.with_gradients);
  }
  return most;
}

KeptBytes run_step(const StepContext& step, const StepState& state) {
  const AdamW& options = step.config.optimizer;
  step.ops.begin_step(step.context, state.inputs, state.scalars);
  const KeptBytes kept = run_batches(step, state);
  {
    const Part part(step, StepPhase::optimizer, "clip");
    step.ops.clip(step.context, state.flat.gradients, options.max_norm, state.scalars);
  }
  const Part part(step, StepPhase::optimizer, "adamw");
  step.ops.adamw(step.context, state.flat, options, state.scalars);
  step.ops.end_step(step.context, state.scalars, state.history, Trainer::kHistory);
  return kept;
}

}  // namespace nsa::training
