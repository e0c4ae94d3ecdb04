#include <array>
#include <optional>

#include "nsa/kernels/catalog.hpp"
#include "runtime/attention.hpp"
#include "runtime/dense.hpp"
#include "training/attention/both_passes.hpp"

namespace nsa::training {
namespace {

/// A step whose launches run beside the caller's, from here to join().
class Beside {
 public:
  explicit Beside(const StageContext& step) : main_(step), side_(step) {
    side_.context.stream = step.stages.fork(step.context);
  }
  // Another exception is on its way; the caller's stream waits all the same, if it can.
  ~Beside() {
    try {
      if (open_) join();
    } catch (...) {
    }
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  const StageContext& step() const { return side_; }
  void join() {
    open_ = false;
    main_.stages.join(main_.context);
  }

 private:
  const StageContext& main_;
  StageContext side_;
  bool open_ = true;
};

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
    if (window_runs_beside()) beside.emplace(step_);
    attend_and_score();
    if (beside) attend_window(beside->step());
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

  /// As the plan has it, where the window's row needs nothing of the one workspace.
  bool window_runs_beside() const {
    if (!plan_of(step_.context.within).window_beside) return false;
    if (step_.context.router->inputs().device.backend == Backend::cpu) return false;
    return workspace_of(*choose(Stage::attend_window).variant, step_.forward) == 0;
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
