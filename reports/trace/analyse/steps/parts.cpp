#include "nsa/trace/step_parts.hpp"

#include <algorithm>
#include <numeric>

#include "analyse/parts.hpp"
#include "analyse/stages/names.hpp"
#include "analyse/sums.hpp"

namespace nsa::trace {
namespace {

/// Times of operations of each class, and last of those without one.
std::vector<std::vector<Interval>> times_by_class(const TraceContext& context,
                                                  const StageClasses& classes,
                                                  const OpIndices& ops) {
  std::vector<std::vector<Interval>> times(classes.names.size() + 1);
  for (const std::uint32_t i : ops) {
    const GpuOp& op = context.trace.ops[i];
    const int of = classes.of_op[i];
    times[of < 0 ? classes.names.size() : static_cast<std::size_t>(of)].push_back(
        {op.start_ns, op.end_ns});
  }
  return times;
}

/// Classes as they take time from each other: stages, what has none, and communication last.
std::vector<std::size_t> order_of(const StageClasses& classes) {
  std::vector<std::size_t> order(classes.names.size() + 1);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_partition(order.begin(), order.end(), [&](std::size_t c) {
    return c == classes.names.size() || classes.names[c] != kCommunication;
  });
  return order;
}

/// Adds what the operations of one device make of its span.
void add_device(const TraceContext& context, const StageClasses& classes, const OpIndices& ops,
                std::vector<std::int64_t>& ns_of_class, StepParts& parts) {
  const auto times = times_by_class(context, classes, ops);
  IntervalSet counted;
  for (const std::size_t c : order_of(classes)) {
    const IntervalSet own = difference(union_of(times[c]), counted);
    if (own.empty()) continue;
    add_to(c == classes.names.size() ? parts.unattributed_ns : ns_of_class[c], length(own));
    std::vector<Interval> both = counted;
    both.insert(both.end(), own.begin(), own.end());
    counted = union_of(std::move(both));
  }
}

StepParts parts_of(const TraceContext& context, const StageClasses& classes, const OpIndices& ops,
                   const std::string& name) {
  const GpuFigures gpu = figures_of(context, ops);
  StepParts parts;
  parts.name = name;
  parts.span_ns = gpu.busy_ns + gpu.idle_ns;
  parts.idle_ns = gpu.idle_ns;
  parts.idle_by_class_ns = gpu.idle_by_class_ns;
  std::vector<std::int64_t> ns_of_class(classes.names.size());
  for (const auto& [device, of_device] : ops_by_device(context, ops))
    add_device(context, classes, of_device, ns_of_class, parts);
  for (const std::size_t c : order_of(classes))
    if (c < ns_of_class.size() && ns_of_class[c] > 0)
      parts.stages.push_back({classes.text(c), ns_of_class[c]});
  return parts;
}

}  // namespace

std::vector<StepParts> step_parts(const Trace& trace) {
  if (trace.ops.empty() || !trace.one_time_line()) return {};
  const TraceContext context(trace);
  const StageClasses classes = stage_classes(context);
  const std::vector<StepRange> ranges = step_ranges(trace, context.launch);
  const std::vector<OpIndices> ops = ops_of_steps(context, ranges);
  std::vector<StepParts> steps;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!ops[i].empty()) steps.push_back(parts_of(context, classes, ops[i], ranges[i].name));
  }
  if (!steps.empty()) return steps;
  return {parts_of(context, classes, all_ops(trace), "")};
}

}  // namespace nsa::trace
