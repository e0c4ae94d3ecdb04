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

/// By Branch.
constexpr std::array kAttends{Stage::attend_compressed, Stage::attend_selected,
                              Stage::attend_window};
constexpr unsigned kToDQ = 1u << BandBackwardTensors::kDQ;  // the gate wrote it

class AttentionBackward {
 public:
  AttentionBackward(const StageContext& step, const GateWeights& weights, const LayerSaved& saved,
                    const AttentionTensors& gradients, bool add)
      : step_(step), w_(weights), t_(saved), saved_(saved.stages), d_(gradients), add_(add) {}

  void dense(const TensorView& d_o) {
    const Problem dense = dense_problem(step_.backward);
    const BandBackwardTensors tensors{
        .q = t_.q, .kv = t_.sel, .o = t_.o, .d_o = d_o, .d_q = d_.q, .d_kv = d_.sel};
    run_tensors(step_, Stage::attend_window, dense, tensors, &saved_);
  }

  void nsa(const TensorView& d_o) {
    const WorkspaceScope scratch(step_.workspace());
    const Choice gate = choose(Stage::gate_combine);
    for (const Branch branch : kBranchOrder) take_gradient(branch, *gate.variant, d_o);
    combine(gate, d_o);
    attend_selected();
    attend_window();
    attend_compressed();
  }

 private:
  /// What the backward launch of a branch gets.
  struct OfBranch {
    Choice choice;
    TensorView d_o;
    bool own = true;  // the gate's backward launch writes `d_o`; else it is that of the gate itself
  };
  OfBranch& of(Branch branch) { return branches_[index_of(branch)]; }
  const TensorView& output(Branch branch) const { return t_.branches[index_of(branch)]; }
  TensorView like(const TensorView& t) { return step_.take({t.shape[0], t.shape[1], t.shape[2]}); }
  Choice choose(Stage stage) const {
    return choose_row(step_.context, stage, step_.backward, step_.deterministic);
  }
  /// Sequences shorter than a block have no compressed keys.
  bool no_keys(Branch branch) const { return branch == Branch::cmp && t_.cmp.k.shape[0] == 0; }

  /// Where both rows can, two numbers a row stand for the gradient of a branch, which is neither
  /// written nor read then.
  void take_gradient(Branch branch, const Variant& gate, const TensorView& d_o) {
    OfBranch& b = of(branch);
    if (no_keys(branch)) {
      b.d_o = like(output(branch));
      return;
    }
    b.choice = choose(kAttends[index_of(branch)]);
    b.own = !gate.folds_gates || !b.choice.variant->folds_gates || !saved_.lse_of(branch);
    b.d_o = b.own ? like(output(branch)) : d_o;
    if (b.own) return;
    const TensorView& o = output(branch);
    saved_.row_stats[index_of(branch)] =
        take_tensor(step_.workspace(), Dtype::fp32, {o.shape[0], o.shape[1], 2});
  }

  void combine(const Choice& choice, const TensorView& d_o) {
    GateBackwardTensors tensors{.q = t_.q,
                                .branches = t_.branches,
                                .weights = w_,
                                .d_o = d_o,
                                .d_q = d_.q,
                                .d_branches = {},
                                .d_weights = d_.gate};
    for (const Branch branch : kBranchOrder)
      if (of(branch).own) tensors.d_branches[index_of(branch)] = of(branch).d_o;
    using Gate = GateBackwardTensors;
    constexpr unsigned kWeights =
        1u << Gate::kDFc1W | 1u << Gate::kDFc1B | 1u << Gate::kDFc2W | 1u << Gate::kDFc2B;
    run_tensors(step_, choice, Stage::gate_combine, step_.backward, tensors, &saved_,
                add_ ? kWeights : 0);
  }

  void attend_window() {
    const BandBackwardTensors tensors{.q = t_.q,
                                      .kv = t_.win,
                                      .o = output(Branch::win),
                                      .d_o = of(Branch::win).d_o,
                                      .d_q = d_.q,
                                      .d_kv = d_.win};
    run_tensors(step_, of(Branch::win).choice, Stage::attend_window, step_.backward, tensors,
                &saved_, kToDQ);
  }

  void attend_selected() {
    const WorkspaceScope scratch(step_.workspace());
    const Choice& choice = of(Branch::sel).choice;
    const TensorView ranges = ranges_for(step_, *choice.variant, t_.blocks, StepPhase::backward);
    const SelectedBackwardTensors tensors{.attention = {.q = t_.q,
                                                        .kv = t_.sel,
                                                        .o = output(Branch::sel),
                                                        .d_o = of(Branch::sel).d_o,
                                                        .d_q = d_.q,
                                                        .d_kv = d_.sel},
                                          .blocks = t_.blocks,
                                          .ranges = ranges};
    run_tensors(step_, choice, Stage::attend_selected, step_.backward, tensors, &saved_, kToDQ);
  }

  void attend_compressed() {
    if (no_keys(Branch::cmp)) {
      step_.stages.fill(step_.context, d_.cmp.k, std::byte{0});
      step_.stages.fill(step_.context, d_.cmp.v, std::byte{0});
      return;
    }
    const KvTensors d_pooled{.k = like(t_.cmp.k), .v = like(t_.cmp.v)};
    const BandBackwardTensors tensors{.q = t_.q,
                                      .kv = t_.cmp,
                                      .o = output(Branch::cmp),
                                      .d_o = of(Branch::cmp).d_o,
                                      .d_q = d_.q,
                                      .d_kv = d_pooled};
    run_tensors(step_, of(Branch::cmp).choice, Stage::attend_compressed, step_.backward, tensors,
                &saved_, kToDQ);
    const CompressBackwardTensors raw{.d_pooled = d_pooled, .d_raw = d_.cmp};
    run_tensors(step_, Stage::compress, step_.backward, raw, nullptr);
  }

  const StageContext& step_;
  const GateWeights& w_;
  const LayerSaved& t_;
  Saved saved_;  // of the layer, with what the launches of this pass hand on
  const AttentionTensors& d_;
  bool add_;
  std::array<OfBranch, 3> branches_;
};

}  // namespace

void backward_attention(const StageContext& step, const GateWeights& weights, LayerSaved& saved,
                        const TensorView& d_o, const AttentionTensors& gradients, bool add) {
  AttentionBackward pass(step, weights, saved, gradients, add);
  gradients.cmp.k ? pass.nsa(d_o) : pass.dense(d_o);
}

}  // namespace nsa::training
