// Annotations and NVTX ranges: what was launched within them, by projection on the GPU, and what
// autograd launched for them on another thread or later.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyse/launches.hpp"
#include "analyse/owners/autograd.hpp"
#include "analyse/owners/host_at.hpp"
#include "analyse/parts.hpp"
#include "analyse/stages/names.hpp"
#include "analyse/sums.hpp"

namespace nsa::trace {
namespace {

struct Projection {
  std::int64_t sum_ns = 0, backward_ns = 0;
  std::map<DeviceKey, Interval> spans;  // a time line for each device
};

void add(const Trace& trace, const GpuOp& op, Projection& to) {
  add_to(to.sum_ns, op.end_ns - op.start_ns);
  Interval& span =
      to.spans.try_emplace({trace.part_of(op.process), op.device}, Interval{op.start_ns, op.end_ns})
          .first->second;
  span.begin = std::min(span.begin, op.start_ns);
  span.end = std::max(span.end, op.end_ns);
}

/// When an operation that stands in a range was launched; of an unknown launch the range's begin.
std::int64_t launched_at(const TraceContext& context, std::size_t op) {
  const std::uint32_t launch = context.launch[op];
  return launch != kNone ? context.trace.calls[launch].start_ns
                         : context.trace.ranges[context.tree.of_op[op]].start_ns;
}

}  // namespace

void add_annotations(const TraceContext& context, Summary& out) {
  std::unordered_map<std::uint32_t, Projection> of_range;  // those that launched something
  const Trace& trace = context.trace;
  const Forwards forwards(trace);
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const GpuOp& op = trace.ops[i];
    const auto launched_in = [&](std::uint32_t r) {
      if (trace.ranges[r].kind != RangeKind::cpu_op) add(trace, op, of_range[r]);
    };
    const std::uint32_t around = context.tree.of_op[i];
    for_each_around(context.tree, around, launched_in);
    const std::uint32_t thread = forwards.thread_of_op(context, i);
    if (thread == kNone) continue;
    const std::int64_t at_ns = launched_at(context, i);
    if (thread != trace.ranges[around].thread)  // whoever called the backward pass waits for it
      for_each_around(context.tree, context.host->range(thread, at_ns), launched_in);
    for_each_around(context.tree, forwards.of_op(context, i), [&](std::uint32_t r) {
      if (trace.ranges[r].kind != RangeKind::cpu_op && trace.ranges[r].end_ns <= at_ns)
        add_to(of_range[r].backward_ns, op.end_ns - op.start_ns);
    });
  }
  if (of_range.empty()) {
    out.null_reasons["annotations"] = "no annotation or NVTX range launched anything";
    return;
  }
  std::map<std::string, AnnotationRow> rows;
  for (const auto& [r, projection] : of_range) {
    const HostRange& range = trace.ranges[r];
    const std::string name = plain_range_name(trace.names.text(range.name));
    AnnotationRow& row = rows[name];
    row.name = name;
    ++row.count;
    add_to(row.host_ns, range.end_ns - range.start_ns);
    add_to(row.gpu_ns, projection.sum_ns);
    add_to(row.backward_ns, projection.backward_ns);
    for (const auto& [device, span] : projection.spans)
      add_to(row.projected_ns, span.end - span.begin);
  }
  out.annotations.emplace();
  for (auto& [name, row] : rows) out.annotations->push_back(std::move(row));
  std::stable_sort(out.annotations->begin(), out.annotations->end(),
                   [](const auto& a, const auto& b) { return a.projected_ns > b.projected_ns; });
}

}  // namespace nsa::trace
