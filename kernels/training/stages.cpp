#include "training/stages.hpp"

#include <string>

#include "nsa/kernels/directions.hpp"
#include "runtime/ops.hpp"

namespace nsa::training {
namespace {

class Launching final : public StageRunner {
 public:
  void launch(const Context& context, const StageLaunch& l) const override {
    const Variant& row = *l.choice.variant;
    if (context.telemetry) {
      context.telemetry->engaged(row.stages, row.name);
      if (l.choice.range) context.telemetry->decided(l.call.stage, l.choice.range->basis);
      if (l.choice.fallback_reason)
        context.telemetry->fallback(l.call.stage, l.choice.fallback_reason);
    }
    const WorkspaceScope scratch(*context.workspace);
    const StageScope scope(context.observer, l.call.stage, row.name, l.call.problem.max_seq_len(),
                           context.stream);
    const char* fallback_reason = nullptr;
    row.launch({.row = row,
                .problem = l.call.problem,
                .sequences = l.call.sequences.host,
                .device_sequences = l.call.sequences.device,
                .in = l.call.in,
                .out = l.call.out,
                .point = *l.choice.point,
                .options = context.options,
                .workspace = *context.workspace,
                .stream = context.stream,
                .saved = l.saved,
                .fallback_reason = &fallback_reason,
                .accumulate = l.accumulate});
    if (fallback_reason && context.telemetry)
      context.telemetry->fallback(l.call.stage, fallback_reason);
  }
  CUstream_st* fork(const Context& context) const override { return ops_of(context).fork(context); }
  void join(const Context& context) const override { ops_of(context).join(context); }
  void zero(const Context& context, const TensorView& x) const override {
    ops_of(context).fill(context, x, std::byte{0});
  }
};

class Counting final : public StageRunner {
 public:
  void launch(const Context& context, const StageLaunch& l) const override {
    const WorkspaceScope scratch(*context.workspace);
    context.workspace->take(
        static_cast<std::size_t>(workspace_of(*l.choice.variant, l.call.problem)));
  }
};

StepPhase phase_of(const Problem& problem) {
  return problem.direction == Direction::forward ? StepPhase::forward : StepPhase::backward;
}

Choice by_itself(const Variant& row) {
  Choice choice = asked_for(row);
  choice.source = Source::built_in;
  choice.fit = Fit::built_in;
  return choice;
}

}  // namespace

const StageRunner& launching() noexcept {
  static const Launching runner;
  return runner;
}

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
  const StepPhase phase = phase_of(problem);
  const Part part(step, phase, to_string(stage));
  Context context = step.context;
  if (phase == StepPhase::backward) context.telemetry = step.backward_telemetry;
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
