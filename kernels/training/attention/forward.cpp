#include <array>
#include <optional>

#include "nsa/kernels/catalog.hpp"
#include "runtime/beside.hpp"
#include "runtime/dense.hpp"
#include "training/attention/both_passes.hpp"

namespace nsa::training {
namespace {

class AttentionForward {
 public:
  AttentionForward(const StageContext& step, const GateWeights& weights, LayerSaved& saved)
      : step_(step), w_(weights), t_(saved) {}

  void dense() {
    const Problem dense = dense_problem(step_.forward);
    const std::array in{t_.q, t_.sel.k, t_.sel.v};
    const std::array out{t_.o};
    run_stage(step_, Stage::attend_window, dense, in, out, &t_.stages);
  }

  void nsa(const KvTensors& raw) {
    if (t_.cmp.k.shape[0] > 0) {
      const std::array in{raw.k, raw.v};
      const std::array out{t_.cmp.k, t_.cmp.v};
      run_stage(step_, Stage::compress, step_.forward, in, out, nullptr);
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
    const std::array in{t_.q, t_.win.k, t_.win.v};
    const std::array out{t_.branches[2]};
    run_stage(step, Stage::attend_window, step_.forward, in, out, &t_.stages);
  }

  /// By a row for each, or one for both.
  void attend_and_score() {
    static constexpr std::array kBoth{Stage::attend_compressed, Stage::score};
    const std::array in{t_.q, t_.cmp.k, t_.cmp.v};
    const std::array both{t_.branches[0], t_.blocks};
    const Cover cover =
        step_.context.router->cover(kBoth, asked_of(step_.forward, true), step_.context.within);
    const Choice& first = cover.choices()[0];
    const bool one_row = first.variant && first.variant->stages.size() > 1 &&
                         (first.variant->deterministic || !step_.deterministic);
    if (one_row) return run_choice(step_, first, kBoth[0], step_.forward, in, both, &t_.stages);
    const std::array o{t_.branches[0]};
    const std::array blocks{t_.blocks};
    const std::array scored{t_.q, t_.cmp.k};
    run_stage(step_, Stage::attend_compressed, step_.forward, in, o, &t_.stages);
    run_stage(step_, Stage::score, step_.forward, scored, blocks, nullptr);
  }

  void attend_selected() {
    const WorkspaceScope scratch(step_.workspace());
    const Choice choice = choose(Stage::attend_selected);
    const TensorView ranges = ranges_for(step_, *choice.variant, t_.blocks, StepPhase::forward);
    const std::array in{t_.q, t_.sel.k, t_.sel.v, t_.blocks, ranges};
    const std::array out{t_.branches[1]};
    run_choice(step_, choice, Stage::attend_selected, step_.forward, in, out, &t_.stages);
  }

  void combine() {
    const std::array in{t_.q,     t_.branches[0], t_.branches[1], t_.branches[2],
                        w_.fc1_w, w_.fc1_b,       w_.fc2_w,       w_.fc2_b};
    const std::array out{t_.o};
    run_stage(step_, Stage::gate_combine, step_.forward, in, out, &t_.stages);
  }

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
