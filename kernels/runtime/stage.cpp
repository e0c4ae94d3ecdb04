#include "stage.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "nsa/schemas/error.hpp"

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

}  // namespace

void run_stage(const Context& context, const StageCall& call, Saved* saved) {
  const Choice choice = context.router->choose(call.stage, call.problem);
  if (!choice.variant) {
    throw InputError(std::string(to_string(call.stage)) +
                     ": no variant of this build runs this problem on this device; "
                     "`nsatune variants` lists them with the reasons");
  }
  count(context, call.stage, choice);
  const WorkspaceScope scratch(*context.workspace);
  const StageScope scope(context.observer, call.stage, choice.variant->name,
                         call.problem.max_seq_len(), context.stream);
  choice.variant->launch({.problem = call.problem,
                          .sequences = call.sequences,
                          .device_sequences = call.sequences.data(),
                          .in = {call.in.begin(), call.in.size()},
                          .out = {call.out.begin(), call.out.size()},
                          .point = *choice.point,
                          .constants = context.constants,
                          .workspace = *context.workspace,
                          .stream = context.stream,
                          .saved = saved});
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
