#include "nsa/kernels/catalog.hpp"
#include "training/attention/both_passes.hpp"
#include "training/pass.hpp"

namespace nsa::training {
namespace {

class LayerForward {
 public:
  LayerForward(const StepContext& step, std::int64_t layer, const BlockWeights& weights,
               LayerSaved& saved)
      : step_(step), layer_(layer), w_(weights), t_(saved) {}

  /// x1 = x0 + attention(norm(x0)); `normed` becomes norm(x1).
  void attention(const TensorView& x0, const TensorView& normed, const TensorView& delta) {
    norm(x0, w_.norm1, normed);
    forward_attention_layer(step_, w_.attention, normed, t_, delta);
    show_attention();
    const Part part(step_, step_.forward_phase, "norm");
    step_.ops.add_norm(step_.context, x0, delta, w_.norm2, t_.x1, normed);
  }

  /// hidden = norm(x1) W_up^T; x2 = x1 + silu(hidden) W_down^T.
  void mlp(const TensorView& normed, const TensorView& delta, const TensorView& x2) {
    const Part part(step_, step_.forward_phase, "mlp");
    step_.ops.linear(step_.context, normed, w_.w_up, t_.hidden);
    show(step_, step_.forward_phase, layer_, "hidden", t_.hidden);
    if (!x2) return;
    const WorkspaceScope scratch(step_.workspace());
    const TensorView active = step_.take({step_.tokens(), t_.hidden.shape[1]});
    step_.ops.silu(step_.context, t_.hidden, active);
    step_.ops.linear(step_.context, active, w_.w_down, delta);
    step_.ops.add_norm(step_.context, t_.x1, delta, {}, x2, {});
    show(step_, step_.forward_phase, layer_, "x", x2);
  }

 private:
  void norm(const TensorView& x, const TensorView& weight, const TensorView& y) {
    const Part part(step_, step_.forward_phase, "norm");
    step_.ops.rms_norm(step_.context, x, weight, y);
  }

  void show_attention() {
    const auto one = [&](std::string_view name, const TensorView& tensor) {
      show(step_, step_.forward_phase, layer_, name, tensor);
    };
    one("q", t_.q), one("k_sel", t_.sel.k), one("v_sel", t_.sel.v), one("k_cmp", t_.cmp.k);
    one("o_cmp", t_.branches[index_of(Branch::cmp)]);
    one("o_sel", t_.branches[index_of(Branch::sel)]);
    one("o_win", t_.branches[index_of(Branch::win)]);
    one("o", t_.o);
  }

  const StepContext& step_;
  std::int64_t layer_;
  const BlockWeights& w_;
  LayerSaved& t_;
};

}  // namespace

void forward_layer(const StepContext& step, std::int64_t layer, const BlockWeights& weights,
                   const TensorView& x0, LayerSaved& saved, const TensorView& x2) {
  const WorkspaceScope scratch(step.workspace());
  const std::int64_t dim = step.config.model.model_dim;
  const TensorView normed = step.take({step.tokens(), dim}),
                   delta = step.take({step.tokens(), dim});
  LayerForward pass(step, layer, weights, saved);
  pass.attention(x0, normed, delta);
  show(step, step.forward_phase, layer, "x1", saved.x1);
  pass.mlp(normed, delta, x2);
}

}  // namespace nsa::training
