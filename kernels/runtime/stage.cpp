#include "stage.hpp"

#include <algorithm>
#include <array>
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
  context.telemetry->engaged(stage, choice.variant->name);
  if (choice.fallback_reason) context.telemetry->fallback(stage, choice.fallback_reason);
}

void launch(const Context& context, const Variant& row, const Point& point, const StageCall& call,
            Saved* saved) {
  const WorkspaceScope scratch(*context.workspace);
  const StageScope scope(context.observer, call.stage, row.name, call.problem.max_seq_len(),
                         context.stream);
  const char* fallback_reason = nullptr;
  row.launch({.problem = call.problem,
              .sequences = call.sequences.host,
              .device_sequences = call.sequences.device,
              .in = {call.in.begin(), call.in.size()},
              .out = {call.out.begin(), call.out.size()},
              .point = point,
              .constants = context.constants,
              .workspace = *context.workspace,
              .stream = context.stream,
              .saved = saved,
              .fallback_reason = &fallback_reason});
  if (fallback_reason && context.telemetry)
    context.telemetry->fallback(call.stage, fallback_reason);
}

}  // namespace

PlacedSequences place_sequences(const Context& context, std::span<const Sequence> sequences) {
  return {sequences, ops_of(context).place(context, sequences)};
}

void run_stage(const Context& context, const StageCall& call, Saved* saved) {
  const Choice choice = context.router->choose(call.stage, call.problem);
  if (!choice.variant) {
    throw InputError(std::string(to_string(call.stage)) +
                     ": no variant of this build runs this problem on this device; "
                     "`nsatune variants` lists them with the reasons");
  }
  count(context, call.stage, choice);
  print_fa2_gates_once(*context.router, call.stage, call.problem);
  launch(context, *choice.variant, *choice.point, call, saved);
}

const Variant* fused_row(const Context& context, Stage first, Stage second,
                         const Problem& problem) {
  const Router::Inputs& inputs = context.router->inputs();
  for (const Variant& row : inputs.rows) {
    const bool both = row.stages.size() == 2 && std::ranges::count(row.stages, first) == 1 &&
                      std::ranges::count(row.stages, second) == 1;
    if (!both || !row.launch || row.role != Role::candidate) continue;
    if (!supports(row, problem, inputs.device).supported) continue;
    for (const Stage stage : {first, second}) {
      // A file's decision compares rows of this one stage; a wish for one of them is kept.
      const Source source = context.router->choose(stage, problem).source;
      if (source == Source::api || source == Source::environment) return nullptr;
    }
    return &row;
  }
  return nullptr;
}

void run_fused(const Context& context, const Variant& row, const StageCall& call, Saved* saved) {
  static const Point kNoPoint;
  if (context.telemetry) context.telemetry->engaged(call.stage, row.name);
  launch(context, row, kNoPoint, call, saved);
}

bool needs_ranges(const Context& context, const Problem& problem) {
  const Choice choice = context.router->choose(Stage::attend_selected, problem);
  if (!choice.variant) return true;
  const auto& ignored = choice.variant->ignores;
  return std::find(ignored.begin(), ignored.end(), "ranges") == ignored.end();
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
