#include <array>

#include "nsa/kernels/catalog.hpp"
#include "operands/attend_backward.hpp"
#include "operands/model_backward.hpp"
#include "operands/select_backward.hpp"
#include "runtime/dense.hpp"
#include "training/attention/both_passes.hpp"
#include "training/attention/run_tensors.hpp"

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
    const BandBackwardTensors tensors{
        .q = t_.q, .kv = t_.sel, .o = t_.o, .d_o = d_o, .d_q = d_.q, .d_kv = d_.sel};
    run_tensors(step_, Stage::attend_window, dense, tensors, &t_.stages);
  }

  void nsa(const TensorView& d_o) {
    const WorkspaceScope scratch(step_.workspace());
    OfBranches d_branches;
    for (const Branch branch : kBranchOrder)
      d_branches[index_of(branch)] = like(of(branch, t_.branches));
    combine(d_o, d_branches);
    attend_selected(of(Branch::sel, d_branches));
    attend_window(of(Branch::win, d_branches));
    attend_compressed(of(Branch::cmp, d_branches));
  }

 private:
  using OfBranches = std::array<TensorView, 3>;
  static const TensorView& of(Branch branch, const OfBranches& tensors) {
    return tensors[index_of(branch)];
  }
  TensorView like(const TensorView& t) { return step_.take({t.shape[0], t.shape[1], t.shape[2]}); }

  void combine(const TensorView& d_o, const OfBranches& d_branches) {
    const GateBackwardTensors tensors{.q = t_.q,
                                      .branches = t_.branches,
                                      .weights = w_,
                                      .d_o = d_o,
                                      .d_q = d_.q,
                                      .d_branches = d_branches,
                                      .d_weights = d_.gate};
    constexpr unsigned kWeights = 0b1111'0000;  // the outputs after d_q and those of the branches
    run_tensors(step_, Stage::gate_combine, step_.backward, tensors, &t_.stages,
                add_ ? kWeights : 0);
  }

  void attend_window(const TensorView& d_o) {
    const BandBackwardTensors tensors{.q = t_.q,
                                      .kv = t_.win,
                                      .o = of(Branch::win, t_.branches),
                                      .d_o = d_o,
                                      .d_q = d_.q,
                                      .d_kv = d_.win};
    run_tensors(step_, Stage::attend_window, step_.backward, tensors, &t_.stages, kToFirst);
  }

  void attend_selected(const TensorView& d_o) {
    const WorkspaceScope scratch(step_.workspace());
    const Choice choice =
        choose_row(step_.context, Stage::attend_selected, step_.backward, step_.deterministic);
    const TensorView ranges = ranges_for(step_, *choice.variant, t_.blocks, StepPhase::backward);
    const SelectedBackwardTensors tensors{.q = t_.q,
                                          .kv = t_.sel,
                                          .blocks = t_.blocks,
                                          .ranges = ranges,
                                          .o = of(Branch::sel, t_.branches),
                                          .d_o = d_o,
                                          .d_q = d_.q,
                                          .d_kv = d_.sel};
    run_tensors(step_, choice, Stage::attend_selected, step_.backward, tensors, &t_.stages,
                kToFirst);
  }

  void attend_compressed(const TensorView& d_o) {
    if (t_.cmp.k.shape[0] == 0) {  // sequences shorter than a block
      step_.stages.zero(step_.context, d_.cmp.k);
      step_.stages.zero(step_.context, d_.cmp.v);
      return;
    }
    const KvTensors d_pooled{.k = like(t_.cmp.k), .v = like(t_.cmp.v)};
    const BandBackwardTensors tensors{.q = t_.q,
                                      .kv = t_.cmp,
                                      .o = of(Branch::cmp, t_.branches),
                                      .d_o = d_o,
                                      .d_q = d_.q,
                                      .d_kv = d_pooled};
    run_tensors(step_, Stage::attend_compressed, step_.backward, tensors, &t_.stages, kToFirst);
    const CompressBackwardTensors raw{.d_pooled = d_pooled, .d_raw = d_.cmp};
    run_tensors(step_, Stage::compress, step_.backward, raw, nullptr);
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
