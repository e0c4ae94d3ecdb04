#include <array>
#include <optional>

#include "attention.hpp"
#include "ops.hpp"

namespace nsa {
namespace {

/// Output of a branch, or zeros where the branch is off.
TensorView take_branch(const Context& context, const AttendCall& call, bool on) {
  const Problem& p = call.problem;
  TensorView o =
      take_tensor(*context.workspace, p.dtype, {call.q.shape[0], p.q_heads, p.head_dim_v});
  // All-zero bits are 0.0 in every dtype.
  if (!on) ops_of(context).fill(context, o, std::byte{0});
  return o;
}

TensorView take_blocks(const Context& context, const AttendCall& call) {
  if (call.blocks) return call.blocks;
  const Problem& p = call.problem;
  return take_tensor(*context.workspace, Dtype::int32,
                     {call.q.shape[0], p.kv_heads, p.geometry.sel_count});
}

/// One of the two branches that read compressed keys, or both at once.
void run_compressed(const Context& context, const Choice& choice, Stage stage,
                    const AttendCall& call, const TensorView& o_cmp, const TensorView& blocks,
                    Saved* saved) {
  const Problem& p = call.problem;
  if (choice.variant && choice.variant->stages.size() > 1) {
    const StageCall both{
        stage, p, call.sequences, {call.q, call.k_cmp, call.v_cmp}, {o_cmp, blocks}};
    run_choice(context, choice, both, saved);
  } else if (stage == Stage::score) {
    run_choice(context, choice, {stage, p, call.sequences, {call.q, call.k_cmp}, {blocks}}, saved);
  } else {
    const StageCall one{stage, p, call.sequences, {call.q, call.k_cmp, call.v_cmp}, {o_cmp}};
    run_choice(context, choice, one, saved);
  }
}

/// o_cmp and the selected blocks, each where its branch is on: by a row for each, or one for both.
void attend_and_score(const Context& context, const AttendCall& call, const TensorView& o_cmp,
                      const TensorView& blocks, Saved* saved) {
  static constexpr std::array kBoth{Stage::attend_compressed, Stage::score};
  const bool on[] = {branch_on(context.constants, 0), branch_on(context.constants, 1)};
  if (on[0] && on[1]) {
    const Cover cover = context.router->cover(kBoth, call.problem, context.within);
    for (std::size_t i = 0; i < cover.choices().size(); ++i)
      run_compressed(context, cover.choices()[i], kBoth[i], call, o_cmp, blocks, saved);
    return;
  }
  for (std::size_t i = 0; i < kBoth.size(); ++i) {
    if (!on[i]) continue;
    const Choice choice = choose(context, kBoth[i], call.problem);
    run_compressed(context, choice, kBoth[i], call, o_cmp, blocks, saved);
  }
}

/// A context whose stream runs beside the caller's from here to join().
class Beside {
 public:
  explicit Beside(const Context& context)
      : main_(context), ops_(ops_of(context)), side_(context), open_(true) {
    side_.stream = ops_.fork(main_);
  }
  const Context& context() const { return side_; }
  void join() {
    open_ = false;
    ops_.join(main_);
  }
  // Another exception is on its way; the caller's stream waits for what reads and writes its
  // tensors also then, as far as that can be had.
  ~Beside() {
    if (!open_) return;
    try {
      ops_.join(main_);
    } catch (...) {
    }
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

 private:
  const Context& main_;
  const RuntimeOps& ops_;
  Context side_;
  bool open_;
};

/// Whether the window branch can run beside the others: they take the one workspace in turns.
bool window_runs_beside(const Context& context, const AttendCall& call) {
  if (!plan_of(context.within).window_beside || !branch_on(context.constants, 2)) return false;
  if (context.router->inputs().device.backend == Backend::cpu) return false;
  const Variant* row = choose(context, Stage::attend_window, call.window_problem).variant;
  return row && workspace_of(*row, call.window_problem) == 0;
}

void attend_window(const Context& context, const AttendCall& call, const TensorView& o_win,
                   Saved* saved) {
  run_stage(context,
            {Stage::attend_window,
             call.window_problem,
             call.window_sequences,
             {call.q, call.k_win, call.v_win},
             {o_win}},
            saved);
}

void attend_selected(const Context& context, const AttendCall& call, const TensorView& blocks,
                     const TensorView& o_sel, Saved* saved) {
  const Problem& p = call.problem;
  TensorView ranges;
  if (needs_ranges(context, p)) {
    ranges = take_tensor(*context.workspace, Dtype::int32,
                         {call.q.shape[0], p.kv_heads, p.geometry.sel_count, 2});
    run_stage(context, {Stage::ranges, p, call.sequences, {blocks}, {ranges}}, saved);
  }
  run_stage(context,
            {Stage::attend_selected,
             p,
             call.sequences,
             {call.q, call.k_sel, call.v_sel, blocks, ranges},
             {o_sel}},
            saved);
}

}  // namespace

void attend(const Context& context, const AttendCall& call, Saved* saved) {
  if (plan_of(context.within).mode == Plan::Mode::one_kernel) return attend_step(context, call);
  const Problem& p = call.problem;
  const WorkspaceScope scratch(*context.workspace);
  const bool cmp = branch_on(context.constants, 0), sel = branch_on(context.constants, 1),
             win = branch_on(context.constants, 2);
  const TensorView o_cmp = take_branch(context, call, cmp);
  const TensorView o_sel = take_branch(context, call, sel);
  const TensorView o_win = take_branch(context, call, win);
  const TensorView blocks = sel ? take_blocks(context, call) : TensorView{};
  std::optional<Beside> beside;
  if (window_runs_beside(context, call)) beside.emplace(context);
  // The scores come first, and the selected branch waits for them: the window fills what these two
  // leave of the device.
  attend_and_score(context, call, o_cmp, blocks, saved);
  if (beside) attend_window(beside->context(), call, o_win, saved);
  if (sel) attend_selected(context, call, blocks, o_sel, saved);
  if (beside) {
    beside->join();
    if (context.telemetry) {
      context.telemetry->engaged(Stage::attention, context.within->variant->name);
    }
  } else if (win) {
    attend_window(context, call, o_win, saved);
  }
  run_stage(context,
            {Stage::gate_combine,
             p,
             call.sequences,
             {call.q, o_cmp, o_sel, o_win, call.fc1_w, call.fc1_b, call.fc2_w, call.fc2_b},
             {call.o}},
            saved);
}

}  // namespace nsa
