#include "nsa/kernels/catalog.hpp"
#include "training/attention/both_passes.hpp"
#include "training/pass.hpp"

namespace nsa::training {
namespace {

constexpr StepPhase kPhase = StepPhase::backward;

class LayerBackward {
 public:
  LayerBackward(const StepContext& step, const BlockWeights& weights, const BlockWeights& gradients,
                LayerSaved& saved, bool add)
      : step_(step), w_(weights), d_(gradients), t_(saved), add_(add) {}

  /// d_x, the gradient of x2, becomes that of x1.
  void mlp(const TensorView& d_x) {
    const WorkspaceScope scratch(step_.workspace());
    const std::int64_t tokens = step_.tokens(), wide = t_.hidden.shape[1];
    const TensorView normed = take_model();
    const TensorView active = step_.take({tokens, wide}), d_active = step_.take({tokens, wide});
    norm(t_.x1, w_.norm2, normed);
    {
      const Part part(step_, kPhase, "mlp");
      step_.ops.linear_backward(step_.context, active, w_.w_down, d_x, {d_active}, {});
      step_.ops.silu_backward(step_.context, t_.hidden, active, d_active);
      step_.ops.linear_backward(step_.context, active, w_.w_down, d_x, {}, {d_.w_down, add_});
      // `normed` is read for the weights before its gradient takes the room of `active`.
      step_.ops.linear_backward(step_.context, normed, w_.w_up, d_active, {}, {d_.w_up, add_});
      step_.ops.linear_backward(step_.context, normed, w_.w_up, d_active, {normed}, {});
    }
    norm_backward(t_.x1, w_.norm2, normed, d_x, d_.norm2);
  }

  /// d_x, the gradient of x1, becomes that of x0.
  void attention(const TensorView& x0, const TensorView& d_x) {
    const WorkspaceScope scratch(step_.workspace());
    const TensorView normed = take_model(), d_normed = take_model();
    norm(x0, w_.norm1, normed);
    backward_attention_layer(step_, w_.attention, normed, t_, d_x, d_normed, d_.attention, add_);
    norm_backward(x0, w_.norm1, d_normed, d_x, d_.norm1);
  }

 private:
  TensorView take_model() { return step_.take({step_.tokens(), step_.config.model.model_dim}); }

  void norm(const TensorView& x, const TensorView& weight, const TensorView& y) {
    const Part part(step_, kPhase, "norm");
    step_.ops.rms_norm(step_.context, x, weight, y);
  }
  void norm_backward(const TensorView& x, const TensorView& weight, const TensorView& d_y,
                     const TensorView& d_x, const TensorView& d_weight) {
    const Part part(step_, kPhase, "norm");
    step_.ops.rms_norm_backward(step_.context, x, weight, d_y, {d_x, true}, {d_weight, add_});
  }

  const StepContext& step_;
  const BlockWeights &w_, &d_;
  LayerSaved& t_;
  bool add_;
};

}  // namespace

void backward_layer(const StepContext& step, std::int64_t layer, const BlockWeights& weights,
                    const BlockWeights& gradients, const TensorView& x0, LayerSaved& saved,
                    const TensorView& d_x, bool add) {
  LayerBackward pass(step, weights, gradients, saved, add);
  pass.mlp(d_x);
  show(step, kPhase, layer, "d_x1", d_x);
  pass.attention(x0, d_x);
  show(step, kPhase, layer, "d_x", d_x);
  show(step, kPhase, layer, "d_w_qkv", gradients.attention.w_qkv);
}

}  // namespace nsa::training
