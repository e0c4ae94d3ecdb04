// Attention with the projections around it.
#include <array>

#include "nsa/kernels/catalog.hpp"
#include "training/attention/both_passes.hpp"

namespace nsa::training {
namespace {

TensorView like(const StageContext& step, const TensorView& t) {
  return step.take({t.shape[0], t.shape[1], t.shape[2]});
}
KvTensors like(const StageContext& step, const KvTensors& kv) {
  return {.k = like(step, kv.k), .v = like(step, kv.v)};
}

bool is_dense(const LayerSaved& saved) { return !saved.cmp.k; }

/// The second gradient of a projection, that of its weights, where `add` is true.
unsigned to_weights(bool add) { return add ? 0b10u : 0u; }

}  // namespace

void forward_attention_layer(const StageContext& step, const LayerWeights& weights,
                             const TensorView& x, LayerSaved& saved, const TensorView& y) {
  {
    const WorkspaceScope scratch(step.workspace());
    const KvTensors raw = is_dense(saved) ? KvTensors{} : like(step, saved.sel);
    const std::array in{x, weights.w_qkv};
    const std::array out{saved.q, raw.k, raw.v, saved.sel.k, saved.sel.v, saved.win.k, saved.win.v};
    run_stage(step, Stage::project_rope, step.forward, in, out, nullptr);
    forward_attention(step, weights.gate, raw, saved);
  }
  const std::array in{saved.o, weights.w_o};
  const std::array out{y};
  run_stage(step, Stage::out_proj, step.forward, in, out, nullptr);
}

void backward_attention_layer(const StageContext& step, const LayerWeights& weights,
                              const TensorView& x, LayerSaved& saved, const TensorView& d_y,
                              const TensorView& d_x, const LayerWeights& gradients, bool add) {
  const WorkspaceScope scratch(step.workspace());
  const TensorView d_o = like(step, saved.o);
  AttentionTensors d;
  d.q = like(step, saved.q);
  const std::array of_y{saved.o, weights.w_o, d_y};
  const std::array to_o{d_o, gradients.w_o};
  run_stage(step, Stage::out_proj, step.backward, of_y, to_o, nullptr, to_weights(add));
  d.sel = like(step, saved.sel);
  if (!is_dense(saved)) {
    d.cmp = like(step, saved.sel);  // of all tokens, as those of the selected branch
    d.win = like(step, saved.win);
    d.gate = gradients.gate;
  }
  backward_attention(step, weights.gate, saved, d_o, d, add);
  const std::array of_projected{x,       weights.w_qkv, d.q,     d.cmp.k, d.cmp.v,
                                d.sel.k, d.sel.v,       d.win.k, d.win.v};
  const std::array to_x{d_x, gradients.w_qkv};
  run_stage(step, Stage::project_rope, step.backward, of_projected, to_x, nullptr, to_weights(add));
}

}  // namespace nsa::training
