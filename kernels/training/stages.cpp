#include "training/stages.hpp"

#include <string>

#include "nsa/kernels/directions.hpp"

namespace nsa::training {
namespace {

class Launching final : public StageRunner {
 public:
  void launch(const Context& context, const StageLaunch& l) const override {
    const Variant& row = *l.choice.variant;
    if (context.telemetry) {
      context.telemetry->engaged(row.stages, row.name);
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
};

class Counting final : public StageRunner {
 public:
  void launch(const Context& context, const StageLaunch& l) const override {
    const WorkspaceScope scratch(*context.workspace);
    context.workspace->take(
        static_cast<std::size_t>(workspace_of(*l.choice.variant, l.call.problem)));
  }
};

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

Choice choose_row(const Router& router, Stage stage, const Problem& problem, bool deterministic) {
  const Choice choice = router.choose(stage, problem);
  if (choice.variant && (choice.variant->deterministic || !deterministic)) return choice;
  const Device& device = router.inputs().device;
  for (const Variant* row : candidates_of(stage, device.backend, problem.direction)) {
    const bool allowed = row->deterministic || !deterministic;
    if (allowed && supports(*row, problem, device).supported) return by_itself(*row);
  }
  throw InputError(std::string(to_string(stage)) + " (" +
                   std::string(to_string(problem.direction)) +
                   "): no variant of this build trains this problem on this device; `nsatune "
                   "variants` lists them with the reasons");
}

}  // namespace nsa::training
