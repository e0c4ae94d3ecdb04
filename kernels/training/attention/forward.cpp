#include <array>
#include <optional>

#include "nsa/kernels/catalog.hpp"
#include "operands/attend.hpp"
#include "operands/model.hpp"
#include "operands/select.hpp"
#include "runtime/beside.hpp"
#include "runtime/dense.hpp"
#include "training/attention/both_passes.hpp"
#include "training/attention/run_tensors.hpp"

namespace nsa::training {
namespace {

class AttentionForward {
 public:
  AttentionForward(const StageContext& step, const GateWeights& weights, LayerSaved& saved)
      : step_(step), w_(weights), t_(saved) {}

  void dense() {
    const Problem dense = dense_problem(step_.forward);
    const BandTensors tensors{.q = t_.q, .kv = t_.sel, .o = t_.o};
    run_tensors(step_, Stage::attend_window, dense, tensors, &t_.stages);
  }

  void nsa(const KvTensors& raw) {
    if (step_.context.telemetry) step_.context.telemetry->sequences(step_.forward);
    if (t_.cmp.k.shape[0] > 0) {
      const CompressTensors tensors{.raw = raw, .pooled = t_.cmp};
      run_tensors(step_, Stage::compress, step_.forward, tensors, nullptr);
    }
    std::optional<Beside> beside;
    if (window_runs_beside()) beside.emplace(step_.context, step_.stages);
    attend_and_score();
    if (beside) {
      StageContext side = step_;
      side.context = beside->context();
      attend_window(side);
    }
    attend_selected();
    if (beside) {
      beside->join();
      if (Telemetry* telemetry = step_.context.telemetry)
        telemetry->engaged(Stage::attention, step_.context.within->variant->name);
    } else {
      attend_window(step_);
    }
    combine();
  }

 private:
  Choice choose(Stage stage) const {
    return choose_row(step_.context, stage, asked_of(step_.forward, true), step_.deterministic);
  }

  bool window_runs_beside() const {
    return plans_window_beside(step_.context) &&
           may_run_beside(choose(Stage::attend_window).variant, step_.forward);
  }

  void attend_window(const StageContext& step) {
    const BandTensors tensors{.q = t_.q, .kv = t_.win, .o = output(Branch::win)};
    run_tensors(step, Stage::attend_window, step_.forward, tensors, &t_.stages);
  }

  /// By a row for each, or one for both.
  void attend_and_score() {
    static constexpr std::array kBoth{Stage::attend_compressed, Stage::score};
    const CompressedScoreTensors both{
        .q = t_.q, .kv = t_.cmp, .o = output(Branch::cmp), .blocks = t_.blocks};
    const Segmentation segmentation = step_.context.router->segmentation(
        kBoth, asked_of(step_.forward, true), step_.context.within);
    const Choice& first = segmentation.choices()[0];
    const bool one_row = first.variant && first.variant->stages.size() > 1 &&
                         (first.variant->deterministic || !step_.deterministic);
    if (one_row)
      return run_tensors(step_, first, Stage::attend_compressed, step_.forward, both, &t_.stages);
    const BandTensors attended{.q = both.q, .kv = both.kv, .o = both.o};
    run_tensors(step_, Stage::attend_compressed, step_.forward, attended, &t_.stages);
    run_tensors(step_, Stage::score, step_.forward, both.score(), nullptr);
  }

  void attend_selected() {
    const WorkspaceScope scratch(step_.workspace());
    const Choice choice = choose(Stage::attend_selected);
    const TensorView ranges = ranges_for(step_, *choice.variant, t_.blocks, step_.forward_phase);
    const SelectedTensors tensors{
        .q = t_.q, .kv = t_.sel, .blocks = t_.blocks, .ranges = ranges, .o = output(Branch::sel)};
    run_tensors(step_, choice, Stage::attend_selected, step_.forward, tensors, &t_.stages);
  }

  void combine() {
    const GateTensors tensors{.q = t_.q, .branches = t_.branches, .weights = w_, .o = t_.o};
    run_tensors(step_, Stage::gate_combine, step_.forward, tensors, &t_.stages);
  }

  const TensorView& output(Branch branch) const { return t_.branches[index_of(branch)]; }

  const StageContext& step_;
  const GateWeights& w_;
  LayerSaved& t_;
};

}  // namespace

void forward_attention(const StageContext& step, const GateWeights& weights, const KvTensors& raw,
                       LayerSaved& saved) {
  AttentionForward pass(step, weights, saved);
  saved.cmp.k ? pass.nsa(raw) : pass.dense();
}

}  // namespace nsa::training
