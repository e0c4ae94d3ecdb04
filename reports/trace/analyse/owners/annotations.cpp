// Annotations and NVTX ranges: what was launched within them, by projection on the GPU.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyse/launches.hpp"
#include "analyse/parts.hpp"
#include "analyse/stages/names.hpp"
#include "analyse/sums.hpp"

namespace nsa::trace {
namespace {

struct Projection {
  std::int64_t sum_ns = 0;
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

}  // namespace

void add_annotations(const TraceContext& context, Summary& out) {
  const Trace& trace = context.trace;
  std::unordered_map<std::uint32_t, Projection> of_range;  // those that launched something
  for (std::size_t i = 0; i < trace.ops.size(); ++i)
    for_each_around(context.tree, context.tree.of_op[i], [&](std::uint32_t r) {
      if (trace.ranges[r].kind != RangeKind::cpu_op) add(trace, trace.ops[i], of_range[r]);
    });
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
    for (const auto& [device, span] : projection.spans)
      add_to(row.projected_ns, span.end - span.begin);
  }
  out.annotations.emplace();
  for (auto& [name, row] : rows) out.annotations->push_back(std::move(row));
  std::stable_sort(out.annotations->begin(), out.annotations->end(),
                   [](const auto& a, const auto& b) { return a.projected_ns > b.projected_ns; });
}

}  // namespace nsa::trace
