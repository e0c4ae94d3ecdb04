#include <array>

#include "nsa/kernels/catalog.hpp"
#include "runtime/dense.hpp"
#include "training/pass.hpp"

namespace nsa::training {
namespace {

constexpr StepPhase kPhase = StepPhase::backward;
constexpr unsigned kToFirst = 1;  // d_q of the attention stages: the gate wrote it

/// Bits [first, first + count) where `add` is true.
unsigned bits(bool add, unsigned first, unsigned count) {
  return add ? ((1u << count) - 1u) << first : 0u;
}

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
    const TensorView d_o = like(t_.o), d_q = like(t_.q);
    norm(x0, w_.norm1, normed);
    const std::array in{t_.o, w_.attention.w_o, d_x};
    const std::array out{d_o, d_.attention.w_o};
    run_stage(step_, Stage::out_proj, step_.backward, in, out, nullptr, bits(add_, 1, 1));
    t_.blocks ? attend_nsa(normed, d_o, d_q, d_normed) : attend_dense(normed, d_o, d_q, d_normed);
    norm_backward(x0, w_.norm1, d_normed, d_x, d_.norm1);
  }

 private:
  TensorView take_model() { return step_.take({step_.tokens(), step_.config.model.model_dim}); }
  TensorView like(const TensorView& t) { return step_.take({t.shape[0], t.shape[1], t.shape[2]}); }
  KvTensors like(const KvTensors& kv) { return {.k = like(kv.k), .v = like(kv.v)}; }

  void norm(const TensorView& x, const TensorView& weight, const TensorView& y) {
    const Part part(step_, kPhase, "norm");
    step_.ops.rms_norm(step_.context, x, weight, y);
  }
  void norm_backward(const TensorView& x, const TensorView& weight, const TensorView& d_y,
                     const TensorView& d_x, const TensorView& d_weight) {
    const Part part(step_, kPhase, "norm");
    step_.ops.rms_norm_backward(step_.context, x, weight, d_y, {d_x, true}, {d_weight, add_});
  }

  void attend_dense(const TensorView& normed, const TensorView& d_o, const TensorView& d_q,
                    const TensorView& d_normed) {
    Problem dense = dense_problem(step_.backward);
    const KvTensors d_kv = like(t_.sel);
    const std::array in{t_.q, t_.sel.k, t_.sel.v, t_.o, d_o};
    const std::array out{d_q, d_kv.k, d_kv.v};
    run_stage(step_, Stage::attend_window, dense, in, out, &t_.stages);
    project(normed, d_q, {}, d_kv, {}, d_normed);
  }

  void attend_nsa(const TensorView& normed, const TensorView& d_o, const TensorView& d_q,
                  const TensorView& d_normed) {
    const std::array d_branches{like(t_.branches[0]), like(t_.branches[1]), like(t_.branches[2])};
    combine(d_o, d_q, d_branches);
    const KvTensors d_sel = like(t_.sel), d_win = like(t_.win), d_cmp = like(t_.cmp);
    const KvTensors d_raw = like(t_.sel);  // of all tokens, as those of the selected branch
    attend_selected(d_branches[1], d_q, d_sel);
    const std::array in{t_.q, t_.win.k, t_.win.v, t_.branches[2], d_branches[2]};
    const std::array out{d_q, d_win.k, d_win.v};
    run_stage(step_, Stage::attend_window, step_.backward, in, out, &t_.stages, kToFirst);
    attend_compressed(d_branches[0], d_q, d_cmp, d_raw);
    project(normed, d_q, d_raw, d_sel, d_win, d_normed);
  }

  void combine(const TensorView& d_o, const TensorView& d_q,
               const std::array<TensorView, 3>& d_branches) {
    const GateWeights &g = w_.attention.gate, &d = d_.attention.gate;
    const std::array in{t_.q,           t_.branches[0], t_.branches[1],
                        t_.branches[2], g.fc1_w,        g.fc1_b,
                        g.fc2_w,        g.fc2_b,        d_o};
    const std::array out{d_q,     d_branches[0], d_branches[1], d_branches[2],
                         d.fc1_w, d.fc1_b,       d.fc2_w,       d.fc2_b};
    run_stage(step_, Stage::gate_combine, step_.backward, in, out, &t_.stages, bits(add_, 4, 4));
  }

  void attend_selected(const TensorView& d_o, const TensorView& d_q, const KvTensors& d_kv) {
    const WorkspaceScope scratch(step_.workspace());
    const Choice choice = choose_row(*step_.context.router, Stage::attend_selected, step_.backward,
                                     step_.config.deterministic);
    const TensorView ranges = ranges_for(step_, *choice.variant, t_.blocks, kPhase);
    const std::array in{t_.q, t_.sel.k, t_.sel.v, t_.blocks, ranges, t_.branches[1], d_o};
    const std::array out{d_q, d_kv.k, d_kv.v};
    run_choice(step_, choice, Stage::attend_selected, step_.backward, in, out, &t_.stages,
               kToFirst);
  }

  void attend_compressed(const TensorView& d_o, const TensorView& d_q, const KvTensors& d_cmp,
                         const KvTensors& d_raw) {
    if (t_.cmp.k.shape[0] == 0) {  // sequences shorter than a block
      step_.ops.zero(step_.context, d_raw.k);
      step_.ops.zero(step_.context, d_raw.v);
      return;
    }
    const std::array in{t_.q, t_.cmp.k, t_.cmp.v, t_.branches[0], d_o};
    const std::array out{d_q, d_cmp.k, d_cmp.v};
    run_stage(step_, Stage::attend_compressed, step_.backward, in, out, &t_.stages, kToFirst);
    const std::array pooled{d_cmp.k, d_cmp.v};
    const std::array raw{d_raw.k, d_raw.v};
    run_stage(step_, Stage::compress, step_.backward, pooled, raw, nullptr);
  }

  void project(const TensorView& normed, const TensorView& d_q, const KvTensors& d_raw,
               const KvTensors& d_sel, const KvTensors& d_win, const TensorView& d_normed) {
    const std::array in{
        normed, w_.attention.w_qkv, d_q, d_raw.k, d_raw.v, d_sel.k, d_sel.v, d_win.k, d_win.v};
    const std::array out{d_normed, d_.attention.w_qkv};
    run_stage(step_, Stage::project_rope, step_.backward, in, out, nullptr, bits(add_, 1, 1));
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
