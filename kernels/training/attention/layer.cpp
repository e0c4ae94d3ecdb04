// Attention with the projections around it.
#include "nsa/kernels/catalog.hpp"
#include "operands/model.hpp"
#include "operands/model_backward.hpp"
#include "training/attention/both_passes.hpp"
#include "training/attention/run_tensors.hpp"

namespace nsa::training {
namespace {

TensorView like(const StageContext& step, const TensorView& t) {
  return step.take({t.shape[0], t.shape[1], t.shape[2]});
}
KvTensors like(const StageContext& step, const KvTensors& kv) {
  return {.k = like(step, kv.k), .v = like(step, kv.v)};
}

bool is_dense(const LayerSaved& saved) { return !saved.cmp.k; }

}  // namespace

void forward_attention_layer(const StageContext& step, const LayerWeights& weights,
                             const TensorView& x, LayerSaved& saved, const TensorView& y) {
  {
    const WorkspaceScope scratch(step.workspace());
    const KvTensors raw = is_dense(saved) ? KvTensors{} : like(step, saved.sel);
    const ProjectTensors projected{.x = x,
                                   .w_qkv = weights.w_qkv,
                                   .q = saved.q,
                                   .cmp = raw,
                                   .sel = saved.sel,
                                   .win = saved.win};
    run_tensors(step, Stage::project_rope, step.forward, projected, nullptr);
    forward_attention(step, weights.gate, raw, saved);
  }
  const OutProjTensors tensors{.o = saved.o, .w_o = weights.w_o, .y = y};
  run_tensors(step, Stage::out_proj, step.forward, tensors, nullptr);
}

void backward_attention_layer(const StageContext& step, const LayerWeights& weights,
                              const TensorView& x, LayerSaved& saved, const TensorView& d_y,
                              const TensorView& d_x, const LayerWeights& gradients, bool add) {
  const WorkspaceScope scratch(step.workspace());
  const TensorView d_o = like(step, saved.o);
  AttentionTensors d;
  d.q = like(step, saved.q);
  const OutProjBackwardTensors output{
      .o = saved.o, .w_o = weights.w_o, .d_y = d_y, .d_o = d_o, .d_w_o = gradients.w_o};
  run_tensors(step, Stage::out_proj, step.backward, output, nullptr,
              add ? 1u << OutProjBackwardTensors::kDWO : 0);
  d.sel = like(step, saved.sel);
  if (!is_dense(saved)) {
    d.cmp = like(step, saved.sel);  // of all tokens, as those of the selected branch
    d.win = like(step, saved.win);
    d.gate = gradients.gate;
  }
  backward_attention(step, weights.gate, saved, d_o, d, add);
  const ProjectBackwardTensors projected{.x = x,
                                         .w_qkv = weights.w_qkv,
                                         .d_q = d.q,
                                         .d_cmp = d.cmp,
                                         .d_sel = d.sel,
                                         .d_win = d.win,
                                         .d_x = d_x,
                                         .d_w_qkv = gradients.w_qkv};
  run_tensors(step, Stage::project_rope, step.backward, projected, nullptr,
              add ? 1u << ProjectBackwardTensors::kDWQkv : 0);
}

}  // namespace nsa::training
