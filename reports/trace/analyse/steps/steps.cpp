#include <algorithm>

#include "analyse/launches.hpp"
#include "analyse/parts.hpp"
#include "analyse/sums.hpp"
#include "index.hpp"

namespace nsa::trace {
namespace {

void count_call(const Context& context, const ApiCall& call, Step& step) {
  ++step.api_calls;
  if (!context.is_sync_name[call.name]) return;
  ++step.host_syncs;
  add_to(step.host_sync_ns, call.end_ns - call.start_ns);
}

}  // namespace

std::vector<OpIndices> ops_of_steps(const Context& context, const std::vector<StepRange>& ranges) {
  const Trace& trace = context.trace;
  const StepIndex index(ranges);
  std::vector<OpIndices> ops(ranges.size());
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    if (context.launch[i] == kNone) continue;
    const ApiCall& call = trace.calls[context.launch[i]];
    if (const auto at = index.at(call.process, call.start_ns)) ops[*at].push_back(i);
  }
  return ops;
}

void add_steps(const Context& context, Summary& out) {
  const Trace& trace = context.trace;
  const std::vector<StepRange> ranges = step_ranges(trace);
  if (ranges.empty()) {
    out.null_reasons["steps"] =
        "no ProfilerStep annotation, NVTX range such as \"step 3\" or optimizer step was recorded";
    return;
  }
  std::vector<Step> steps;
  for (const StepRange& range : ranges) {
    steps.emplace_back();
    steps.back().name = range.name;
    steps.back().source = range.source;
    steps.back().process = range.process;
    steps.back().start_ns = range.start_ns;
    steps.back().duration_ns = range.end_ns - range.start_ns;
  }
  const StepIndex index(ranges);
  for (const ApiCall& call : trace.calls)
    if (const auto at = index.at(call.process, call.start_ns))
      count_call(context, call, steps[*at]);
  const std::vector<OpIndices> ops = ops_of_steps(context, ranges);
  const bool linked = std::any_of(context.launch.begin(), context.launch.end(),
                                  [](std::uint32_t call) { return call != kNone; });
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!ops[i].empty()) {
      steps[i].gpu = figures_of(context, ops[i]);
    } else if (linked) {
      steps[i].gpu.emplace();  // nothing was launched in it: all figures are 0
    }
  }
  if (!linked)
    out.null_reasons["steps.*"] =
        "no operation refers to a recorded launch call, so none to a step";
  out.steps = std::move(steps);
}

}  // namespace nsa::trace
