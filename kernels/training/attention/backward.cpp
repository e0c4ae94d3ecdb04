#include <array>

#include "nsa/kernels/catalog.hpp"
#include "runtime/dense.hpp"
#include "training/attention/both_passes.hpp"

namespace nsa::training {
namespace {

constexpr unsigned kToFirst = 1;  // d_q of the attention stages: the gate wrote it

class AttentionBackward {
 public:
  AttentionBackward(const StageContext& step, const GateWeights& weights, LayerSaved& saved,
                    const AttentionTensors& gradients, bool add)
      : step_(step), w_(weights), t_(saved), d_(gradients), add_(add) {}

  void dense(const TensorView& d_o) {
    const Problem dense = dense_problem(step_.backward);
    const std::array in{t_.q, t_.sel.k, t_.sel.v, t_.o, d_o};
    const std::array out{d_.q, d_.sel.k, d_.sel.v};
    run_stage(step_, Stage::attend_window, dense, in, out, &t_.stages);
  }

  void nsa(const TensorView& d_o) {
    const WorkspaceScope scratch(step_.workspace());
    const std::array d_branches{like(t_.branches[0]), like(t_.branches[1]), like(t_.branches[2])};
    combine(d_o, d_branches);
    attend_selected(d_branches[1]);
    const std::array in{t_.q, t_.win.k, t_.win.v, t_.branches[2], d_branches[2]};
    const std::array out{d_.q, d_.win.k, d_.win.v};
    run_stage(step_, Stage::attend_window, step_.backward, in, out, &t_.stages, kToFirst);
    attend_compressed(d_branches[0]);
  }

 private:
  TensorView like(const TensorView& t) { return step_.take({t.shape[0], t.shape[1], t.shape[2]}); }

  void combine(const TensorView& d_o, const std::array<TensorView, 3>& d_branches) {
    const GateWeights& d = d_.gate;
    const std::array in{t_.q,           t_.branches[0], t_.branches[1],
                        t_.branches[2], w_.fc1_w,       w_.fc1_b,
                        w_.fc2_w,       w_.fc2_b,       d_o};
    const std::array out{d_.q,    d_branches[0], d_branches[1], d_branches[2],
                         d.fc1_w, d.fc1_b,       d.fc2_w,       d.fc2_b};
    constexpr unsigned kWeights = 0b1111'0000;
    run_stage(step_, Stage::gate_combine, step_.backward, in, out, &t_.stages, add_ ? kWeights : 0);
  }

  void attend_selected(const TensorView& d_o) {
    const WorkspaceScope scratch(step_.workspace());
    const Choice choice =
        choose_row(step_.context, Stage::attend_selected, step_.backward, step_.deterministic);
    const TensorView ranges = ranges_for(step_, *choice.variant, t_.blocks, StepPhase::backward);
    const std::array in{t_.q, t_.sel.k, t_.sel.v, t_.blocks, ranges, t_.branches[1], d_o};
    const std::array out{d_.q, d_.sel.k, d_.sel.v};
    run_choice(step_, choice, Stage::attend_selected, step_.backward, in, out, &t_.stages,
               kToFirst);
  }

  void attend_compressed(const TensorView& d_o) {
    if (t_.cmp.k.shape[0] == 0) {  // sequences shorter than a block
      step_.stages.zero(step_.context, d_.cmp.k);
      step_.stages.zero(step_.context, d_.cmp.v);
      return;
    }
    const std::array pooled{like(t_.cmp.k), like(t_.cmp.v)};
    const std::array in{t_.q, t_.cmp.k, t_.cmp.v, t_.branches[0], d_o};
    const std::array out{d_.q, pooled[0], pooled[1]};
    run_stage(step_, Stage::attend_compressed, step_.backward, in, out, &t_.stages, kToFirst);
    const std::array raw{d_.cmp.k, d_.cmp.v};
    run_stage(step_, Stage::compress, step_.backward, pooled, raw, nullptr);
  }

  const StageContext& step_;
  const GateWeights& w_;
  LayerSaved& t_;
  const AttentionTensors& d_;
  bool add_;
};

}  // namespace

void backward_attention(const StageContext& step, const GateWeights& weights, LayerSaved& saved,
                        const TensorView& d_o, const AttentionTensors& gradients, bool add) {
  AttentionBackward pass(step, weights, saved, gradients, add);
  gradients.cmp.k ? pass.nsa(d_o) : pass.dense(d_o);
}

}  // namespace nsa::training
