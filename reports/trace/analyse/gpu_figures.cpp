#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "context.hpp"
#include "sums.hpp"

namespace nsa::trace {
namespace {

/// When some operations ran. Counted first: a vector that grows holds its memory twice.
template <class Passes>
IntervalSet times_of(const TraceContext& context, const OpIndices& ops, Passes passes) {
  std::vector<Interval> out;
  out.reserve(static_cast<std::size_t>(std::count_if(ops.begin(), ops.end(), passes)));
  for (const std::uint32_t i : ops)
    if (passes(i)) out.push_back({context.trace.ops[i].start_ns, context.trace.ops[i].end_ns});
  return union_of(std::move(out));
}

/// What computes, communicates and moves memory, and what of it runs at one time.
void add_parts(const TraceContext& context, const OpIndices& ops, GpuFigures& out) {
  const auto& all = context.trace.ops;
  const auto is_comm = [&](std::uint32_t i) {
    return all[i].kind != OpKind::graph && context.is_comm(i);
  };
  const auto is_compute = [&](std::uint32_t i) {
    return all[i].kind == OpKind::kernel && !context.is_comm(i);
  };
  const auto is_mem = [&](std::uint32_t i) {
    return (all[i].kind == OpKind::copy || all[i].kind == OpKind::set) && !context.is_comm(i);
  };
  out.mem_ns = length(times_of(context, ops, is_mem));
  const IntervalSet computes = times_of(context, ops, is_compute),
                    communicates = times_of(context, ops, is_comm);
  out.compute_ns = length(computes);
  out.comm_ns = length(communicates);
  out.comm_overlapped_by_compute_ns = length_of_intersection(communicates, computes);
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
  out.busy_ns = length(times_of(context, ops, [](std::uint32_t) { return true; }));
  out.idle_ns = out.span_ns - out.busy_ns;
  out.idle_by_class_ns = classify_idle(context, ops);
  return out;
}

}  // namespace nsa::trace
