#include "training/pass.hpp"

#include <algorithm>
#include <array>

#include "nsa/kernels/catalog.hpp"
#include "training/arenas.hpp"

namespace nsa::training {
namespace {

/// Final norm, head and loss, in both directions: d_x becomes the gradient of x.
void head(const StepContext& step, const BatchTensors& batch, const TensorView& x,
          const TensorView& d_x, bool add) {
  const WorkspaceScope scratch(step.workspace());
  const std::int64_t dim = step.config.model.model_dim;
  const TensorView normed = step.take({step.tokens(), dim}),
                   d_normed = step.take({step.tokens(), dim});
  {
    const Part part(step, StepPhase::forward, "norm");
    step.ops.rms_norm(step.context, x, batch.weights.final_norm, normed);
  }
  show(step, StepPhase::forward, -1, "final_norm", normed);
  {
    // The loss and its gradients at once: logits are not kept.
    const Part part(step, StepPhase::backward, "head");
    step.ops.head_loss(step.context,
                       {.x = normed,
                        .weight = batch.weights.lm_head,
                        .targets = batch.targets,
                        .scale = 1.0 / static_cast<double>(step.config.tokens_per_step()),
                        .d_x = {d_normed},
                        .d_weight = {batch.gradients.lm_head, add}},
                       batch.scalars);
  }
  show(step, StepPhase::backward, -1, "d_final_norm", d_normed);
  show(step, StepPhase::backward, -1, "d_lm_head", batch.gradients.lm_head);
  const Part part(step, StepPhase::backward, "norm");
  step.ops.rms_norm_backward(step.context, x, batch.weights.final_norm, d_normed, {d_x},
                             {batch.gradients.final_norm, add});
}

/// How large `kept` has to be for gradients of weights at its end.
class GradientRoom {
 public:
  GradientRoom(const Workspace& kept, const TensorView& flat) : kept_(kept), flat_(flat) {}

  /// `first` and what lies after it in the flat tensor is written now, or was before.
  void before(const TensorView& first) {
    const auto begin = static_cast<std::size_t>(first.as<const char>() - flat_.as<const char>());
    bytes_ = std::max(bytes_, kept_.mark().used + flat_bytes(flat_) - begin / kAlign * kAlign);
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t kAlign = 256;
  const Workspace& kept_;
  const TensorView& flat_;
  std::size_t bytes_ = 0;
};

/// The layers from the last to the first; those without what was kept run forward again.
class LayersBackward {
 public:
  LayersBackward(const StepContext& step, const BatchTensors& batch, std::span<const TensorView> x,
                 const TensorView& d_x, bool add, GradientRoom& room)
      : step_(step), batch_(batch), x_(x), d_x_(d_x), add_(add), room_(room) {}

  void again(std::int64_t layer) {
    LayerSaved saved = take_saved(step_.kept, step_.config.model, step_.forward);
    StepContext again = step_;
    again.forward_phase = StepPhase::recompute;
    forward_layer(again, layer, weights(layer), x(layer), saved, {});
    backward(layer, saved);
  }
  void backward(std::int64_t layer, LayerSaved& saved) {
    const BlockWeights& gradients = batch_.gradients.blocks[static_cast<std::size_t>(layer)];
    room_.before(gradients.norm1);
    backward_layer(step_, layer, weights(layer), gradients, x(layer), saved, d_x_, add_);
  }

 private:
  const BlockWeights& weights(std::int64_t layer) const {
    return batch_.weights.blocks[static_cast<std::size_t>(layer)];
  }
  const TensorView& x(std::int64_t layer) const { return x_[static_cast<std::size_t>(layer)]; }

  const StepContext& step_;
  const BatchTensors& batch_;
  std::span<const TensorView> x_;
  const TensorView& d_x_;
  bool add_;
  GradientRoom& room_;
};

/// The input of every layer, the last one's output, and the gradient of these.
std::vector<TensorView> take_inputs(Workspace& kept, const ModelConfig& c, std::int64_t tokens) {
  std::vector<TensorView> all;
  for (std::int64_t i = 0; i < c.layers + 2; ++i)
    all.push_back(take_tensor(kept, c.dtype, {tokens, c.model_dim}));
  return all;
}

}  // namespace

std::size_t flat_bytes(const TensorView& flat) noexcept {
  constexpr std::size_t kAlign = 256;
  return (flat.bytes() + kAlign - 1) / kAlign * kAlign;
}

void show(const StepContext& step, StepPhase phase, std::int64_t layer, std::string_view name,
          const TensorView& tensor) {
  if (!step.observer || !tensor || !step.observer->wants_tensors()) return;
  const std::string prefix = layer < 0 ? "" : "layers." + std::to_string(layer) + ".";
  step.observer->tensor(phase, prefix + std::string(name), tensor);
}

std::size_t kept_bytes(const ModelConfig& config, const Problem& problem) {
  Nowhere nowhere;
  Workspace kept(nowhere, Nowhere::kEndless);
  take_inputs(kept, config, problem.total_tokens());
  for (std::int64_t i = 0; i < config.layers; ++i) take_saved(kept, config, problem);
  return kept.peak_bytes();
}

KeptBytes run_batch(const StepContext& step, const BatchTensors& batch, bool add) {
  const WorkspaceScope held(step.kept);
  const ModelConfig& c = step.config.model;
  const auto layers = static_cast<std::size_t>(c.layers);
  const std::vector<TensorView> x = take_inputs(step.kept, c, step.tokens());
  const TensorView& d_x = x.back();
  {
    const Part part(step, StepPhase::forward, "embed");
    step.ops.embed(step.context, batch.tokens, batch.weights.embedding, x[0]);
  }
  show(step, StepPhase::forward, -1, "embedding", x[0]);
  std::vector<LayerSaved> saved(layers);
  std::vector<Workspace::Mark> marks(layers);
  for (std::size_t i = 0; i < layers; ++i) {
    marks[i] = step.kept.mark();
    saved[i] = take_saved(step.kept, c, step.forward);
    const auto layer = static_cast<std::int64_t>(i);
    forward_layer(step, layer, batch.weights.blocks[i], x[i], saved[i], x[i + 1]);
    if (step.config.checkpoint.holds(layer)) step.kept.rewind(marks[i]);
  }
  const std::size_t between = step.kept.mark().used;
  GradientRoom room(step.kept, batch.flat_gradients);
  room.before(batch.gradients.final_norm);
  head(step, batch, x[layers], d_x, add);
  LayersBackward backward(step, batch, x, d_x, add, room);
  for (std::size_t i = layers; i-- > 0;) {
    const auto layer = static_cast<std::int64_t>(i);
    step.config.checkpoint.holds(layer) ? backward.again(layer)
                                        : backward.backward(layer, saved[i]);
    step.kept.rewind(marks[i]);
  }
  room.before(batch.gradients.embedding);
  const Part part(step, StepPhase::backward, "embed");
  step.ops.embed_backward(step.context, batch.tokens, d_x, {batch.gradients.embedding, add});
  return {between, room.bytes()};
}

}  // namespace nsa::training
