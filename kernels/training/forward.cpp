#include <array>

#include "nsa/kernels/catalog.hpp"
#include "runtime/dense.hpp"
#include "training/pass.hpp"

namespace nsa::training {
namespace {

constexpr StepPhase kPhase = StepPhase::forward;

class LayerForward {
 public:
  LayerForward(const StepContext& step, std::int64_t layer, const BlockWeights& weights,
               LayerSaved& saved)
      : step_(step), layer_(layer), w_(weights), t_(saved) {}

  /// x1 = x0 + attention(norm(x0)); `normed` becomes norm(x1).
  void attention(const TensorView& x0, const TensorView& normed, const TensorView& delta) {
    norm(x0, w_.norm1, normed);
    t_.blocks ? attend_nsa(normed) : attend_dense(normed);
    show_attention();
    const std::array in{t_.o, w_.attention.w_o};
    const std::array out{delta};
    run_stage(step_, Stage::out_proj, step_.forward, in, out, nullptr);
    const Part part(step_, kPhase, "norm");
    step_.ops.add_norm(step_.context, x0, delta, w_.norm2, t_.x1, normed);
  }

  /// hidden = norm(x1) W_up^T; x2 = x1 + silu(hidden) W_down^T.
  void mlp(const TensorView& normed, const TensorView& delta, const TensorView& x2) {
    const Part part(step_, kPhase, "mlp");
    step_.ops.linear(step_.context, normed, w_.w_up, t_.hidden);
    show(step_, kPhase, layer_, "hidden", t_.hidden);
    if (!x2) return;
    const WorkspaceScope scratch(step_.workspace());
    const TensorView active = step_.take({step_.tokens(), t_.hidden.shape[1]});
    step_.ops.silu(step_.context, t_.hidden, active);
    step_.ops.linear(step_.context, active, w_.w_down, delta);
    step_.ops.add_norm(step_.context, t_.x1, delta, {}, x2, {});
    show(step_, kPhase, layer_, "x", x2);
  }

 private:
  void norm(const TensorView& x, const TensorView& weight, const TensorView& y) {
    const Part part(step_, kPhase, "norm");
    step_.ops.rms_norm(step_.context, x, weight, y);
  }

  void project(const TensorView& normed, const KvTensors& raw) {
    const std::array in{normed, w_.attention.w_qkv};
    const std::array out{t_.q, raw.k, raw.v, t_.sel.k, t_.sel.v, t_.win.k, t_.win.v};
    run_stage(step_, Stage::project_rope, step_.forward, in, out, nullptr);
  }

  void attend_dense(const TensorView& normed) {
    project(normed, {});
    const Problem dense = dense_problem(step_.forward);
    const std::array in{t_.q, t_.sel.k, t_.sel.v};
    const std::array out{t_.o};
    run_stage(step_, Stage::attend_window, dense, in, out, &t_.stages);
  }

  void attend_nsa(const TensorView& normed) {
    const WorkspaceScope scratch(step_.workspace());
    const Problem& p = step_.forward;
    const KvTensors raw{.k = step_.take({step_.tokens(), p.kv_heads, p.head_dim_k}),
                        .v = step_.take({step_.tokens(), p.kv_heads, p.head_dim_v})};
    project(normed, raw);
    if (t_.cmp.k.shape[0] > 0) {
      const std::array in{raw.k, raw.v};
      const std::array out{t_.cmp.k, t_.cmp.v};
      run_stage(step_, Stage::compress, p, in, out, nullptr);
    }
    attend_and_score();
    attend_selected();
    const std::array in{t_.q, t_.win.k, t_.win.v};
    const std::array out{t_.branches[2]};
    run_stage(step_, Stage::attend_window, p, in, out, &t_.stages);
    combine();
  }

  /// By a row for each, or one for both.
  void attend_and_score() {
    static constexpr std::array kBoth{Stage::attend_compressed, Stage::score};
    const std::array in{t_.q, t_.cmp.k, t_.cmp.v};
    const std::array both{t_.branches[0], t_.blocks};
    const Cover cover = step_.context.router->cover(kBoth, asked_of(step_.forward, true));
    const Choice& first = cover.choices()[0];
    const bool one_row = first.variant && first.variant->stages.size() > 1 &&
                         (first.variant->deterministic || !step_.config.deterministic);
    if (one_row) return run_choice(step_, first, kBoth[0], step_.forward, in, both, &t_.stages);
    const std::array o{t_.branches[0]};
    const std::array blocks{t_.blocks};
    const std::array scored{t_.q, t_.cmp.k};
    run_stage(step_, Stage::attend_compressed, step_.forward, in, o, &t_.stages);
    run_stage(step_, Stage::score, step_.forward, scored, blocks, nullptr);
  }

  void attend_selected() {
    const WorkspaceScope scratch(step_.workspace());
    const Choice choice = choose_row(*step_.context.router, Stage::attend_selected,
                                     asked_of(step_.forward, true), step_.config.deterministic);
    const TensorView ranges = ranges_for(step_, *choice.variant, t_.blocks, kPhase);
    const std::array in{t_.q, t_.sel.k, t_.sel.v, t_.blocks, ranges};
    const std::array out{t_.branches[1]};
    run_choice(step_, choice, Stage::attend_selected, step_.forward, in, out, &t_.stages);
  }

  void combine() {
    const GateWeights& g = w_.attention.gate;
    const std::array in{t_.q,    t_.branches[0], t_.branches[1], t_.branches[2],
                        g.fc1_w, g.fc1_b,        g.fc2_w,        g.fc2_b};
    const std::array out{t_.o};
    run_stage(step_, Stage::gate_combine, step_.forward, in, out, &t_.stages);
  }

  void show_attention() {
    const auto one = [&](std::string_view name, const TensorView& tensor) {
      show(step_, kPhase, layer_, name, tensor);
    };
    one("q", t_.q), one("k_sel", t_.sel.k), one("v_sel", t_.sel.v), one("k_cmp", t_.cmp.k);
    one("o_cmp", t_.branches[0]), one("o_sel", t_.branches[1]), one("o_win", t_.branches[2]);
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
  show(step, kPhase, layer, "x1", saved.x1);
  pass.mlp(normed, delta, x2);
}

}  // namespace nsa::training
