// Figures of several devices: each alone, then added up.
#include <algorithm>
#include <numeric>

#include "context.hpp"
#include "sums.hpp"

namespace nsa::trace {
namespace {

void add(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& value) {
  if (value) add_to(sum ? *sum : sum.emplace(0), *value);
}

/// Times of a further device; counts and the span are of all together.
void add_times(GpuFigures& sum, const GpuFigures& of) {
  add_to(sum.busy_ns, of.busy_ns);
  add_to(sum.idle_ns, of.idle_ns);
  add_to(sum.compute_ns, of.compute_ns);
  add_to(sum.comm_ns, of.comm_ns);
  add_to(sum.mem_ns, of.mem_ns);
  add_to(sum.comm_overlapped_by_compute_ns, of.comm_overlapped_by_compute_ns);
  add_to(sum.exposed_comm_ns, of.exposed_comm_ns);
  IdleClasses& idle = sum.idle_by_class_ns;
  add(idle.host_wait, of.idle_by_class_ns.host_wait);
  add(idle.kernel_wait, of.idle_by_class_ns.kernel_wait);
  add(idle.sync, of.idle_by_class_ns.sync);
  add(idle.blocking_call, of.idle_by_class_ns.blocking_call);
  add(idle.profiler_overhead, of.idle_by_class_ns.profiler_overhead);
  add_to(idle.other, of.idle_by_class_ns.other);
}

}  // namespace

std::map<DeviceKey, OpIndices> ops_by_device(const TraceContext& context, const OpIndices& ops) {
  std::map<DeviceKey, OpIndices> out;
  for (const std::uint32_t i : ops) {
    const GpuOp& op = context.trace.ops[i];
    out[{context.trace.part_of(op.process), op.device}].push_back(i);
  }
  return out;
}

OpIndices all_ops(const Trace& trace) {
  OpIndices all(trace.ops.size());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

GpuFigures figures_together(const GpuSums& sums, const std::vector<GpuFigures>& devices) {
  expects(!devices.empty(), "at least one device");
  GpuFigures out;
  static_cast<GpuSums&>(out) = sums;
  out.start_ns = kMaxTimeNs;
  out.end_ns = -kMaxTimeNs;
  for (const GpuFigures& one : devices) {
    out.start_ns = std::min(out.start_ns, one.start_ns);
    out.end_ns = std::max(out.end_ns, one.end_ns);
    add_times(out, one);
  }
  out.span_ns = out.end_ns - out.start_ns;
  return out;
}

GpuFigures figures_of(const TraceContext& context, const OpIndices& ops) {
  expects(!ops.empty(), "at least one operation");
  const std::map<DeviceKey, OpIndices> devices = ops_by_device(context, ops);
  if (devices.size() == 1) return figures_on_device(context, ops);
  std::vector<GpuFigures> figures;
  for (const auto& [key, of_device] : devices)
    figures.push_back(figures_on_device(context, of_device));
  return figures_together(sums_of(context, ops), figures);
}

}  // namespace nsa::trace
