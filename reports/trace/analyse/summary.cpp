#include "nsa/trace/summary.hpp"

#include "host_name.hpp"
#include "nsa/trace/filter.hpp"
#include "parts.hpp"
#include "summary_fields.hpp"

namespace nsa::trace {
namespace {

constexpr const char* kNotStated = "the file does not state it";

void give_reason(Summary& out, std::initializer_list<const char*> keys, const char* reason) {
  for (const char* key : keys) out.null_reasons.try_emplace(key, reason);
}

/// Of each of the figures that is null.
void give_reason(Summary& out, const Figures& figures, const char* reason) {
  fields::each_field(figures, [&]<class F, class Value>(const F& field, const Value& value) {
    if (F::kind == fields::Kind::or_null && !value) give_reason(out, {field.name}, reason);
  });
}

/// Facts of the file, and which of them it does not state.
void add_source(const Trace& trace, Summary& out) {
  const Origin& source = trace.source;
  out.path = source.path;
  out.format = source.format;
  out.part = source.part;
  out.kept = source.kept;
  out.events = source.events;
  out.first_ns = first_event(trace);
  out.bytes = source.bytes;
  out.gpu_ops_without_time = source.untimed_ops;
  out.base_time_ns = source.base_time_ns;
  out.rank = source.rank;
  out.world_size = source.world_size;
  out.clocks = source.clocks;
  for (const ProcessInfo& process : trace.processes) {
    if (process.part >= out.ranks_of_parts.size())
      out.ranks_of_parts.resize(process.part + std::size_t{1});
    std::optional<std::int64_t>& rank = out.ranks_of_parts[process.part];
    if (!rank) rank = process.rank;
  }
  if (std::string host = host_name(trace); !host.empty()) out.host = std::move(host);
  if (!out.host) give_reason(out, {"host"}, out.clocks ? "it is not one host" : kNotStated);
  if (!out.base_time_ns) give_reason(out, {"base_time_ns"}, kNotStated);
  if (!out.rank) give_reason(out, {"rank"}, out.clocks ? "it is not one rank" : kNotStated);
  if (!out.world_size) give_reason(out, {"world_size"}, kNotStated);
}

/// What is said of kernels would be said of those outside of graphs only.
void hide_kernels(Summary& out) {
  static const std::string kReason =
      "graph launches were recorded as a whole; record again with "
      "their nodes (nsys profile --cuda-graph-trace=node)";
  give_reason(out, figures_of_all(out), kReason.c_str());
  give_reason(out, {"kernels_by_name", "attention"}, kReason.c_str());
  out.kernels_by_name.reset();
  out.attention.reset();
}

/// Counts of all operations; those of a single device are known already.
GpuSums sums_of_all(const TraceContext& context, const std::vector<DeviceSummary>& devices) {
  if (devices.size() == 1) return static_cast<const GpuSums&>(devices.front().gpu);
  return sums_of(context, all_ops(context.trace));
}

/// Everything about GPU operations.
void add_gpu(const TraceContext& context, Summary& out) {
  if (context.trace.ops.empty()) {
    constexpr const char* kNone = "no GPU operation was recorded";
    give_reason(out, figures_of_all(out), kNone);
    give_reason(out,
                {"kernels_by_name", "copies", "launch_apis", "gpu_ops_with_launch",
                 "gpu_ops_without_launch", "launch_to_start_ns", "stages", "unattributed_ns",
                 "unattributed_idle_ns", "queue", "attention"},
                kNone);
    return;
  }
  add_devices(context, out);
  out.sums = sums_of_all(context, out.devices);
  if (context.trace.one_time_line()) {
    std::vector<GpuFigures> devices;
    for (const DeviceSummary& device : out.devices) devices.push_back(device.gpu);
    out.gpu = figures_together(*out.sums, devices);
    if (!out.gpu->idle_by_class_ns.profiler_overhead)
      give_reason(out, {"idle_by_class_ns.profiler_overhead"}, "no overhead was recorded");
  } else {
    constexpr GpuSums kKnown;  // so that these are the times alone
    give_reason(out, Figures{.sums = &kKnown}, out.clocks->assumption.c_str());
  }
  add_kernels(context, out);
  add_copies(context, out);
  if (out.sums->whole_graphs > 0) hide_kernels(out);
}

/// Everything about calls of the host and what they launched.
void add_host(const TraceContext& context, const StageClasses& classes, Summary& out) {
  if (context.trace.calls.empty()) {
    give_reason(out,
                {"api_calls", "launch_apis", "gpu_ops_with_launch", "gpu_ops_without_launch",
                 "launch_to_start_ns", "host_syncs"},
                "no CUDA API call was recorded");
    if (out.gpu)
      give_reason(out,
                  {"idle_by_class_ns.host_wait", "idle_by_class_ns.kernel_wait",
                   "idle_by_class_ns.sync", "idle_by_class_ns.blocking_call"},
                  "no CUDA API call was recorded");
    return;
  }
  out.api_calls = static_cast<std::int64_t>(context.trace.calls.size());
  add_host_syncs(context, classes, out);
  if (out.sums) add_launches(context, out);
}

/// An operation gets its stage from the range around its launch, or from its recorder.
void add_stages_if_known(const TraceContext& context, const StageClasses& classes, Summary& out) {
  if (!out.sums) return;
  const Trace& trace = context.trace;
  bool own = false;
  for (const GpuOp& op : trace.ops) own |= op.stage != kNoName;
  if (!own && trace.ranges.empty()) {
    give_reason(out, {"stages", "unattributed_ns", "unattributed_idle_ns"},
                "neither NVTX ranges nor annotations nor operators were recorded");
  } else if (!own && trace.calls.empty()) {
    give_reason(out, {"stages", "unattributed_ns", "unattributed_idle_ns"},
                "no launch call was recorded that would link operations to ranges");
  } else {
    add_stages(context, classes, out);
  }
}

/// Why it is not said what waited for the communication.
void explain_exposed_comm(Summary& out) {
  if (out.exposed_comm_waits()) return;
  const auto reason_of = [&](const char* key) {
    const auto at = out.null_reasons.find(key);
    return at == out.null_reasons.end() ? std::string("nothing communicated") : at->second;
  };
  std::string& reason = out.null_reasons["exposed_comm_waits"];
  if (!out.gpu || out.gpu->whole_graphs > 0) {
    reason = reason_of("exposed_comm_ns");
  } else if (out.gpu->comm_ns == 0) {
    reason = reason_of("collectives");
  } else {
    reason = out.critical_path ? "each device has one stream, whose order says what waited"
                               : reason_of("critical_path");
  }
}

}  // namespace

std::string Summary::exposed_comm_doubt() const {
  const std::string waits = exposed_comm_waits().value_or("recorded");
  if (waits == "inferred")
    return "; which streams waited for it is inferred, and so is what it costs";
  return waits == "none"
             ? "; no stream is known to have waited for it, so what it costs is not known"
             : "";
}

Summary summarize(const Trace& trace) {
  const TraceContext context(trace);
  Summary out;
  add_source(trace, out);
  add_gpu(context, out);
  {
    const StageClasses classes = stage_classes(context);
    add_host(context, classes, out);
    add_stages_if_known(context, classes, out);
  }
  add_collectives(context, out);
  add_gaps(context, out);
  add_queue(context, out);
  add_operators(context, out);
  add_annotations(context, out);
  add_modules(context, out);
  add_steps(context, out);
  add_critical_path(context, out);
  explain_exposed_comm(out);
  add_gpu_ranges(context, out);
  add_memory(context, out);
  add_recording(trace, out);
  if (trace.ranges.empty() && trace.calls.empty()) {
    give_reason(out, {"partial_overlaps_on_a_thread"}, "no event of a host thread was recorded");
  } else {
    add_partial_overlaps(context, out);
  }
  return out;
}

}  // namespace nsa::trace
