#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "context.hpp"
#include "sums.hpp"

namespace nsa::trace {
namespace {

struct Sets {
  IntervalSet all, compute, comm, mem;
};

Sets sets_of(const Context& context, const OpIndices& ops) {
  std::vector<Interval> all, compute, comm, mem;
  for (const std::uint32_t i : ops) {
    const GpuOp& op = context.trace.ops[i];
    const Interval time{op.start_ns, op.end_ns};
    all.push_back(time);
    if (op.kind == OpKind::graph) continue;
    (context.is_comm(i) ? comm : op.kind != OpKind::kernel ? mem : compute).push_back(time);
  }
  return {union_of(std::move(all)), union_of(std::move(compute)), union_of(std::move(comm)),
          union_of(std::move(mem))};
}

void count(const Context& context, const OpIndices& ops, GpuSums& out) {
  std::set<NameId> names;
  for (const std::uint32_t i : ops) {
    const GpuOp& op = context.trace.ops[i];
    const std::int64_t duration = op.end_ns - op.start_ns;
    add_to(out.op_sum_ns, duration);
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
std::int64_t same_stream_overlaps(const Context& context, const OpIndices& ops) {
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

GpuSums sums_of(const Context& context, const OpIndices& ops) {
  GpuSums out;
  count(context, ops, out);
  out.same_stream_overlaps = same_stream_overlaps(context, ops);
  return out;
}

GpuFigures figures_on_device(const Context& context, const OpIndices& ops) {
  const std::vector<GpuOp>& all = context.trace.ops;
  GpuFigures out;
  static_cast<GpuSums&>(out) = sums_of(context, ops);
  out.start_ns = all[ops.front()].start_ns;
  out.end_ns = out.start_ns;
  for (const std::uint32_t i : ops) out.end_ns = std::max(out.end_ns, all[i].end_ns);

  const Sets sets = sets_of(context, ops);
  out.span_ns = out.end_ns - out.start_ns;
  out.busy_ns = length(sets.all);
  out.idle_ns = out.span_ns - out.busy_ns;
  out.compute_ns = length(sets.compute);
  out.comm_ns = length(sets.comm);
  out.mem_ns = length(sets.mem);
  out.comm_overlapped_by_compute_ns = length(intersection(sets.comm, sets.compute));
  out.exposed_comm_ns = out.comm_ns - out.comm_overlapped_by_compute_ns;
  const IntervalSet span = union_of({{out.start_ns, out.end_ns}});
  out.idle_by_class_ns = classify_idle(context, ops, difference(span, sets.all));
  return out;
}

}  // namespace nsa::trace
