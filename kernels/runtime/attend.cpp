#include <array>
#include <optional>

#include "attention.hpp"
#include "beside.hpp"
#include "operands/attend.hpp"
#include "operands/model.hpp"
#include "operands/select.hpp"
#include "ops.hpp"

namespace nsa {
namespace {

/// One call: where its keys are, its tensors (cmp: compressed rows), what is saved.
struct Call {
  const AttendPlaces& places;
  const AttentionTensors& tensors;
  Saved* saved;
};

/// Output of a branch, or zeros where the branch is off.
TensorView take_branch(const Context& context, const Call& call, Branch branch) {
  const Problem& p = call.places.problem;
  TensorView o =
      take_tensor(*context.workspace, p.dtype, {call.tensors.q.shape[0], p.q_heads, p.head_dim_v});
  // All-zero bits are 0.0 in every dtype.
  if (!context.options.on(branch)) ops_of(context).fill(context, o, std::byte{0});
  return o;
}

TensorView take_blocks(const Context& context, const Call& call) {
  if (call.tensors.blocks) return call.tensors.blocks;
  const Problem& p = call.places.problem;
  return take_tensor(*context.workspace, Dtype::int32,
                     {call.tensors.q.shape[0], p.kv_heads, p.geometry.sel_count});
}

/// One of the two branches that read compressed keys, or both at once.
void run_compressed(const Context& context, const Choice& choice, Stage stage, const Call& call,
                    const TensorView& o_cmp, const TensorView& blocks) {
  const AttentionTensors& t = call.tensors;
  const CompressedScoreTensors both{.q = t.q, .kv = t.cmp, .o = o_cmp, .blocks = blocks};
  const auto run = [&](const auto& tensors) {
    run_choice(context, choice, stage, call.places.problem, call.places.sequences, tensors,
               call.saved);
  };
  if (choice.variant && choice.variant->stages.size() > 1) {
    run(both);
  } else if (stage == Stage::score) {
    run(both.score());
  } else {
    run(BandTensors{.q = t.q, .kv = t.cmp, .o = o_cmp});
  }
}

/// o_cmp and the selected blocks, each where its branch is on: by a row for each, or one for both.
void attend_and_score(const Context& context, const Call& call, const TensorView& o_cmp,
                      const TensorView& blocks) {
  static constexpr std::array kBoth{Stage::attend_compressed, Stage::score};
  const bool on[] = {context.options.on(Branch::cmp), context.options.on(Branch::sel)};
  const Problem& p = call.places.problem;
  if (on[0] && on[1]) {
    const Segmentation segmentation = context.router->segmentation(kBoth, p, context.within);
    for (std::size_t i = 0; i < segmentation.choices().size(); ++i)
      run_compressed(context, segmentation.choices()[i], kBoth[i], call, o_cmp, blocks);
    return;
  }
  for (std::size_t i = 0; i < kBoth.size(); ++i) {
    if (!on[i]) continue;
    run_compressed(context, choose(context, kBoth[i], p), kBoth[i], call, o_cmp, blocks);
  }
}

bool window_runs_beside(const Context& context, const AttendPlaces& places) {
  if (!plans_window_beside(context) || !context.options.on(Branch::win)) return false;
  const Problem& p = places.window_problem;
  return may_run_beside(choose(context, Stage::attend_window, p).variant, p);
}

void attend_window(const Context& context, const Call& call, const TensorView& o_win) {
  run_stage(context, Stage::attend_window, call.places.window_problem, call.places.window_sequences,
            BandTensors{.q = call.tensors.q, .kv = call.tensors.win, .o = o_win}, call.saved);
}

void attend_selected(const Context& context, const Call& call, const TensorView& blocks,
                     const TensorView& o_sel) {
  const Problem& p = call.places.problem;
  const PlacedSequences& sequences = call.places.sequences;
  TensorView ranges;
  if (needs_ranges(context, p)) {
    ranges = take_tensor(*context.workspace, Dtype::int32,
                         {call.tensors.q.shape[0], p.kv_heads, p.geometry.sel_count, 2});
    run_stage(context, Stage::ranges, p, sequences,
              RangesTensors{.blocks = blocks, .ranges = ranges}, call.saved);
  }
  run_stage(context, Stage::attend_selected, p, sequences,
            SelectedTensors{.q = call.tensors.q,
                            .kv = call.tensors.sel,
                            .blocks = blocks,
                            .ranges = ranges,
                            .o = o_sel},
            call.saved);
}

}  // namespace

void attend(const Context& context, const AttendPlaces& places, const AttentionTensors& tensors,
            Saved* saved) {
  if (context.telemetry) context.telemetry->sequences(places.problem);
  if (plan_of(context.within).mode == CompositePlan::Mode::one_kernel)
    return attend_step(context, places, tensors);
  const Call call{places, tensors, saved};
  const WorkspaceScope scratch(*context.workspace);
  const bool sel = context.options.on(Branch::sel);
  const TensorView o_cmp = take_branch(context, call, Branch::cmp);
  const TensorView o_sel = take_branch(context, call, Branch::sel);
  const TensorView o_win = take_branch(context, call, Branch::win);
  const TensorView blocks = sel ? take_blocks(context, call) : TensorView{};
  std::optional<Beside> beside;
  if (window_runs_beside(context, places)) beside.emplace(context, ops_of(context));
  // The scores come first, and the selected branch waits for them: the window fills what these two
  // leave of the device.
  attend_and_score(context, call, o_cmp, blocks);
  if (beside) attend_window(beside->context(), call, o_win);
  if (sel) attend_selected(context, call, blocks, o_sel);
  if (beside) {
    beside->join();
    if (context.telemetry) {
      context.telemetry->engaged(Stage::attention, context.within->variant->name);
    }
  } else if (context.options.on(Branch::win)) {
    attend_window(context, call, o_win);
  }
  run_stage(context, Stage::gate_combine, places.problem, places.sequences,
            GateTensors{.q = tensors.q,
                        .branches = {o_cmp, o_sel, o_win},
                        .weights = tensors.gate,
                        .o = tensors.o},
            saved);
}

}  // namespace nsa
