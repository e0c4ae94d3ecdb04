// A whole step as launches, on tensors that lie wherever the step runs.
#pragma once

#include "training/pass.hpp"

namespace nsa::training {

/// What a step reads and writes beside its arena.
struct StepState {
  ModelWeights weights, gradients;  // views into the flat tensors
  OptimizerTensors flat;
  const StepInputs* inputs = nullptr;
  TensorView tokens, targets;  // [accumulate, tokens of a batch] int32
  StepScalars* scalars = nullptr;
  StepResult* history = nullptr;  // [Trainer::kHistory]
};

/// Forward and backward of all batches of a step; the most that one of them took.
KeptBytes run_batches(const StepContext& step, const StepState& state);
/// Those, then clipping and AdamW.
KeptBytes run_step(const StepContext& step, const StepState& state);

/// The problem of one batch.
Problem batch_problem(const TrainingConfig& config, Direction direction);

}  // namespace nsa::training
