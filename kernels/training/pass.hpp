// Forward and backward of one batch, as sequences of launches.
#pragma once

#include "training/ops.hpp"
#include "training/saved.hpp"
#include "training/stages.hpp"

namespace nsa::training {

/// What all launches of a step share.
struct StepContext : StageContext {
  const TrainingConfig& config;
  const TrainingOps& ops;
  Workspace& kept;  // of what the forward pass keeps; scratch is the context's workspace
};

/// Shows a tensor to an observer that wants them: "layers.3.q".
void show(const StepContext& step, StepPhase phase, std::int64_t layer, std::string_view name,
          const TensorView& tensor);

/// One layer from x0 [tokens, model_dim] to x2, keeping what `saved` holds. Without x2 it ends
/// where nothing after is needed for the backward pass.
void forward_layer(const StepContext& step, std::int64_t layer, const BlockWeights& weights,
                   const TensorView& x0, LayerSaved& saved, const TensorView& x2);
/// Its backward pass: d_x becomes the gradient of x0 from that of x2; `add` adds to the gradients
/// of the weights.
void backward_layer(const StepContext& step, std::int64_t layer, const BlockWeights& weights,
                    const BlockWeights& gradients, const TensorView& x0, LayerSaved& saved,
                    const TensorView& d_x, bool add);

/// The tensors of one batch.
struct BatchTensors {
  TensorView tokens, targets;  // [tokens] int32
  const ModelWeights& weights;
  const ModelWeights& gradients;
  const TensorView& flat_gradients;  // what `gradients` are views of
  StepScalars* scalars;
};
/// Of a flat tensor, up to where another can begin.
std::size_t flat_bytes(const TensorView& flat) noexcept;
/// What a batch takes of `kept`.
struct KeptBytes {
  std::size_t between = 0;  // in use between the two passes
  /// How large it has to be for the gradients of the weights to lie at its end: none is written
  /// where something is that the backward pass still reads.
  std::size_t with_gradients = 0;
};
/// Bytes of `kept` that run_batch() takes where no layer is a checkpoint.
std::size_t kept_bytes(const ModelConfig& config, const Problem& problem);
/// Adds the batch's loss to the scalars, and its gradients, or overwrites them.
KeptBytes run_batch(const StepContext& step, const BatchTensors& batch, bool add);

/// Launch function of the rows of Stage::model that compute both passes.
void launch_model(const LaunchArgs& args);

}  // namespace nsa::training
