#include "training/stages.hpp"

#include <string>

#include "nsa/kernels/directions.hpp"

namespace nsa::training {
namespace {

class Counting final : public StageRunner {
 public:
  void launch(const Context& context, const StageLaunch& l) const override {
    const WorkspaceScope scratch(*context.workspace);
    context.workspace->take(
        static_cast<std::size_t>(workspace_of(*l.choice.variant, l.call.problem)));
  }
  void fill(const Context&, const TensorView&, std::byte) const override {}
};

Choice by_itself(const Variant& row) {
  Choice choice = asked_for(row);
  choice.source = Source::built_in;
  choice.fit = Fit::built_in;
  return choice;
}

}  // namespace

const StageRunner& counting() noexcept {
  static const Counting runner;
  return runner;
}

Problem asked_of(const Problem& problem, bool saves) {
  const bool saving = saves && problem.direction == Direction::forward;
  return saving ? in_direction(problem, kForwardSaving) : problem;
}

Choice choose_attention(const Router& router, const Problem& forward) {
  return router.choose(Stage::attention, in_direction(forward, kForwardBackward));
}

Choice choose_row(const Context& context, Stage stage, const Problem& problem, bool deterministic) {
  const Choice choice = choose(context, stage, problem);
  if (choice.variant && (choice.variant->deterministic || !deterministic)) return choice;
  const Device& device = context.router->inputs().device;
  for (const Variant* row : candidates_of(stage, device.backend, problem.direction)) {
    const bool allowed = row->deterministic || !deterministic;
    if (allowed && supports(*row, problem, device).supported) return by_itself(*row);
  }
  throw InputError(std::string(to_string(stage)) + " (" +
                   std::string(to_string(problem.direction)) +
                   "): no variant of this build trains this problem on this device; `nsatune "
                   "variants` lists them with the reasons");
}

void run_choice(const StageContext& step, const Choice& choice, Stage stage, const Problem& problem,
                std::span<const TensorView> in, std::span<const TensorView> out, Saved* saved,
                unsigned accumulate) {
  const bool forward = problem.direction == Direction::forward;
  const Part part(step, forward ? step.forward_phase : StepPhase::backward, to_string(stage));
  Context context = step.context;
  if (!forward) context.telemetry = step.backward_telemetry;
  step.stages.launch(context,
                     {choice, {stage, problem, step.sequences, in, out}, saved, accumulate});
}

void run_stage(const StageContext& step, Stage stage, const Problem& problem,
               std::span<const TensorView> in, std::span<const TensorView> out, Saved* saved,
               unsigned accumulate) {
  const Choice choice =
      choose_row(step.context, stage, asked_of(problem, saved != nullptr), step.deterministic);
  run_choice(step, choice, stage, problem, in, out, saved, accumulate);
}

TensorView ranges_for(const StageContext& step, const Variant& row, const TensorView& blocks,
                      StepPhase phase) {
  if (!reads(row, "ranges")) return {};
  const Problem& p = step.forward;
  const TensorView ranges = take_tensor(step.workspace(), Dtype::int32,
                                        {blocks.shape[0], p.kv_heads, p.geometry.sel_count, 2});
  const std::array in{blocks};
  const std::array out{ranges};
  const Choice choice = choose_row(step.context, Stage::ranges, p, step.deterministic);
  const Part part(step, phase, to_string(Stage::ranges));
  step.stages.launch(step.context, {choice, {Stage::ranges, p, step.sequences, in, out}});
  return ranges;
}

}  // namespace nsa::training
