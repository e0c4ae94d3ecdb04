#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "context.hpp"
#include "sums.hpp"

namespace nsa::trace {
namespace {

IntervalSet busy_set(const TraceContext& context, const OpIndices& ops) {
  std::vector<Interval> out;
  out.reserve(ops.size());
  for (const std::uint32_t i : ops)
    out.push_back({context.trace.ops[i].start_ns, context.trace.ops[i].end_ns});
  return union_of(std::move(out));
}

/// What computes, communicates and moves memory, and what of it runs at one time.
void add_parts(const TraceContext& context, const OpIndices& ops, GpuFigures& out) {
  std::vector<Interval> compute, comm, mem;
  for (const std::uint32_t i : ops) {
    const GpuOp& op = context.trace.ops[i];
    if (op.kind == OpKind::graph) continue;
    (context.is_comm(i)          ? comm
     : op.kind != OpKind::kernel ? mem
                                 : compute)
        .push_back({op.start_ns, op.end_ns});
  }
  out.mem_ns = length(union_of(std::move(mem)));
  const IntervalSet computes = union_of(std::move(compute)),
                    communicates = union_of(std::move(comm));
  out.compute_ns = length(computes);
  out.comm_ns = length(communicates);
  out.comm_overlapped_by_compute_ns = length(intersection(communicates, computes));
  out.exposed_comm_ns = out.comm_ns - out.comm_overlapped_by_compute_ns;
}

void count(const TraceContext& context, const OpIndices& ops, GpuSums& out) {
  std::set<NameId> names;
  for (const std::uint32_t i : ops) {
    const GpuOp& op = context.trace.ops[i];
    const std::int64_t duration = op.end_ns - op.start_ns;
    add_to(out.op_sum_ns, duration);
    out.graph_nodes += context.is_graph_node(i);
    if (op.kind != OpKind::kernel) {
      ++(op.kind == OpKind::graph ? out.whole_graphs : out.memops);
      continue;
    }
    ++out.kernels;
    add_to(out.kernel_sum_ns, duration);
    out.comm_kernels += context.is_comm(i);
    names.insert(op.name);
  }
  out.distinct_kernels = static_cast<std::int64_t>(names.size());
}

/// Operations that start before all earlier ones of their stream have ended (programmatic dependent
/// launch).
std::int64_t same_stream_overlaps(const TraceContext& context, const OpIndices& ops) {
  std::map<std::tuple<std::uint32_t, std::int32_t, std::int64_t>, std::int64_t> last_end;
  std::int64_t overlaps = 0;
  for (const std::uint32_t i : ops) {
    const GpuOp& op = context.trace.ops[i];
    const auto [at, first] = last_end.try_emplace({op.process, op.device, op.stream}, op.end_ns);
    if (first) continue;
    overlaps += op.start_ns < at->second;
    at->second = std::max(at->second, op.end_ns);
  }
  return overlaps;
}

}  // namespace

GpuSums sums_of(const TraceContext& context, const OpIndices& ops) {
  GpuSums out;
  count(context, ops, out);
  out.same_stream_overlaps = same_stream_overlaps(context, ops);
  return out;
}

GpuFigures figures_on_device(const TraceContext& context, const OpIndices& ops) {
  const std::vector<GpuOp>& all = context.trace.ops;
  GpuFigures out;
  static_cast<GpuSums&>(out) = sums_of(context, ops);
  out.start_ns = all[ops.front()].start_ns;
  out.end_ns = out.start_ns;
  for (const std::uint32_t i : ops) out.end_ns = std::max(out.end_ns, all[i].end_ns);

  out.span_ns = out.end_ns - out.start_ns;
  add_parts(context, ops, out);
  IntervalSet busy = busy_set(context, ops);
  out.busy_ns = length(busy);
  out.idle_ns = out.span_ns - out.busy_ns;
  IntervalSet gaps = difference(union_of({{out.start_ns, out.end_ns}}), busy);
  busy = {};
  out.idle_by_class_ns = classify_idle(context, ops, std::move(gaps));
  return out;
}

}  // namespace nsa::trace
