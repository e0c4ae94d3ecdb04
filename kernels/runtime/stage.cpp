#include "stage.hpp"

#include <string>

#include "nsa/schemas/error.hpp"
#include "ops.hpp"
#include "telemetry/fa2_gates.hpp"

namespace nsa {
namespace {

void count(const Context& context, Stage stage, const Choice& choice) {
  if (choice.variant->role == Role::slow_path) {
    warn_slow_path_once(std::string(to_string(stage)) + "/" + std::string(choice.variant->name));
    if (context.telemetry) context.telemetry->slow_path();
  }
  if (!context.telemetry) return;
  context.telemetry->engaged(choice.variant->stages, choice.variant->name);
  if (choice.range) context.telemetry->decided(stage, choice.range->basis);
  if (choice.fallback_reason) context.telemetry->fallback(stage, choice.fallback_reason);
}

}  // namespace

void StageRunner::launch(const Context& context, const StageLaunch& launch) const {
  const auto& [choice, call, saved, accumulate] = launch;
  const Variant& row = *choice.variant;
  count(context, call.stage, choice);
  // What runs where something is saved is decided by itself: the gates do not tell of it.
  if (!saved) print_fa2_gates_once(*context.router, call.stage, call.problem);
  const WorkspaceScope scratch(*context.workspace);
  const StageScope scope(context.observer, call.stage, row.name, call.problem.max_seq_len(),
                         context.stream);
  const char* fallback_reason = nullptr;
  row.launch({.row = row,
              .problem = call.problem,
              .sequences = call.sequences.host,
              .device_sequences = call.sequences.device,
              .in = call.in,
              .out = call.out,
              .point = *choice.point,
              .options = context.options,
              .workspace = *context.workspace,
              .stream = context.stream,
              .saved = saved,
              .fallback_reason = &fallback_reason,
              .accumulate = accumulate});
  if (fallback_reason && context.telemetry)
    context.telemetry->fallback(call.stage, fallback_reason);
}

PlacedSequences place_sequences(const Context& context, std::span<const Sequence> sequences) {
  return {sequences, ops_of(context).place(context, sequences)};
}

void run_stage(const Context& context, const StageCall& call, Saved* saved) {
  run_choice(context, choose(context, call.stage, call.problem), call, saved);
}

void run_choice(const Context& context, const Choice& choice, const StageCall& call, Saved* saved) {
  if (!choice.variant) {
    throw InputError(std::string(to_string(call.stage)) +
                     ": no variant of this build runs this problem on this device; "
                     "`nsatune variants` lists them with the reasons");
  }
  ops_of(context).launch(context, {choice, call, saved});
}

Choice asked_for(const Variant& row) noexcept {
  static const Point kNoPoint;
  Choice choice;
  choice.variant = &row;
  choice.point = &kNoPoint;
  choice.source = Source::api;
  choice.fit = Fit::exact;
  return choice;
}

bool needs_ranges(const Context& context, const Problem& problem) {
  const Choice choice = choose(context, Stage::attend_selected, problem);
  return !choice.variant || reads(*choice.variant, "ranges");
}

TensorView take_tensor(Workspace& workspace, Dtype dtype,
                       std::initializer_list<std::int64_t> shape) {
  TensorView view = make_view(nullptr, dtype, shape);
  view.data = workspace.take(view.bytes());
  return view;
}

TensorView slice_rows(const TensorView& tensor, std::int64_t begin, std::int64_t count) {
  TensorView view = tensor;
  view.data = static_cast<char*>(tensor.data) +
              begin * tensor.stride[0] * static_cast<std::int64_t>(size_of(tensor.dtype));
  view.shape[0] = count;
  return view;
}

}  // namespace nsa
