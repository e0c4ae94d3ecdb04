#include <algorithm>
#include <map>

#include "analyse/launches.hpp"
#include "analyse/parts.hpp"
#include "analyse/sums.hpp"
#include "index.hpp"
#include "steps.hpp"

namespace nsa::trace {
namespace {

void count_wait(std::int64_t ns, Step& step) {
  ++step.host_syncs;
  add_to(step.host_sync_ns, ns);
}

/// Calls of the host and what CUDA did on its own account, by their own times.
void count_host(const TraceContext& context, const StepIndex& index, std::vector<Step>& steps) {
  const Trace& trace = context.trace;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const ApiCall& call = trace.calls[i];
    const auto at = index.at(call.process, call.start_ns);
    if (!at) continue;
    ++steps[*at].api_calls;
    if (context.wait[i] != WaitKind::none) count_wait(call.end_ns - call.start_ns, steps[*at]);
  }
  for (const Overhead& o : trace.overheads) {
    if (o.of_profiler || wait_of_overhead(trace.names.text(o.name)) == WaitKind::none) continue;
    if (const auto at = index.at(o.process, o.start_ns))
      count_wait(o.end_ns - o.start_ns, steps[*at]);
  }
}

/// On the device's line a step ends where the next one of its process begins.
void set_device_times(const std::vector<StepRange>& ranges, std::vector<Step>& steps) {
  std::map<std::uint32_t, std::int64_t> next;
  for (std::size_t i = steps.size(); i-- > 0;) {
    Step& step = steps[i];
    if (!step.gpu || step.gpu->op_sum_ns == 0) continue;
    const std::int64_t start_ns = step.gpu->start_ns;
    step.device_start_ns = start_ns;
    const auto [at, last] = next.try_emplace(step.process, step.gpu->end_ns);
    const std::int64_t end_ns = ranges[i].next_op_ns.value_or(at->second);
    step.device_ns = std::max<std::int64_t>(0, end_ns - start_ns);
    at->second = start_ns;
  }
}

}  // namespace

std::vector<OpIndices> ops_of_steps(const TraceContext& context,
                                    const std::vector<StepRange>& ranges) {
  const Trace& trace = context.trace;
  const StepIndex index(ranges);
  std::vector<OpIndices> ops(ranges.size());
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i)
    if (const auto at = step_of_op(context, index, ranges, i)) ops[*at].push_back(i);
  return ops;
}

std::optional<std::size_t> step_of_op(const TraceContext& context, const StepIndex& index,
                                      const std::vector<StepRange>& ranges, std::uint32_t op) {
  if (ranges.empty()) return {};
  const GpuOp& of = context.trace.ops[op];
  if (ranges.front().on_device) return index.at(of.process, of.start_ns);
  if (context.launch[op] == kNone) return {};
  const ApiCall& call = context.trace.calls[context.launch[op]];
  return index.at(call.process, call.start_ns);
}

void set_next_ops(const TraceContext& context, std::vector<StepRange>& ranges) {
  const std::vector<OpIndices> ops = ops_of_steps(context, ranges);
  std::map<std::uint32_t, std::int64_t> next;  // by process
  for (std::size_t i = ranges.size(); i-- > 0;) {
    if (ops[i].empty()) continue;
    std::int64_t start_ns = kMaxTimeNs;
    for (const std::uint32_t op : ops[i])
      start_ns = std::min(start_ns, context.trace.ops[op].start_ns);
    const auto [at, last] = next.try_emplace(ranges[i].process, start_ns);
    if (!last) ranges[i].next_op_ns = at->second;
    at->second = start_ns;
  }
}

void add_steps(const TraceContext& context, Summary& out) {
  const std::vector<StepRange> ranges = step_ranges(context.trace, context.launch);
  if (ranges.empty()) {
    out.null_reasons["steps"] =
        "no ProfilerStep annotation, NVTX range such as \"step 3\" or optimizer step was recorded, "
        "and no sequence of kernels repeats";
    out.null_reasons["step_times"] = out.null_reasons["steps"];
    return;
  }
  std::vector<Step> steps;
  for (const StepRange& range : ranges) {
    Step& step = steps.emplace_back();
    step.name = range.name;
    step.source = range.source;
    step.process = range.process;
    step.part = context.trace.part_of(range.process);
    step.start_ns = range.start_ns;
    step.duration_ns = range.end_ns - range.start_ns;
  }
  count_host(context, StepIndex(ranges), steps);
  const std::vector<OpIndices> ops = ops_of_steps(context, ranges);
  const bool linked =
      std::any_of(ops.begin(), ops.end(), [](const OpIndices& of) { return !of.empty(); }) ||
      std::any_of(context.launch.begin(), context.launch.end(),
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
  set_device_times(ranges, steps);
  out.step_times = step_times_of(steps);
  out.steps = std::move(steps);
}

}  // namespace nsa::trace
