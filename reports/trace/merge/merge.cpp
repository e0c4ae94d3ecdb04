#include "nsa/trace/merge.hpp"

#include <algorithm>

#include "align.hpp"
#include "analyse/host_name.hpp"
#include "nsa/schemas/error.hpp"
#include "read/finish.hpp"
#include "read/launch_shapes.hpp"

namespace nsa::trace {
namespace {

/// Every trace says of itself what the merged one has to say of its processes.
void name_process(Trace& trace) {
  if (!trace.processes.empty()) return;
  ProcessInfo info;
  info.rank = trace.source.rank;
  info.world_size = trace.source.world_size;
  if (!trace.threads.empty()) info.pid = trace.threads.front().pid;
  if (const std::string host = host_name(trace); !host.empty()) info.metadata["host"] = host;
  trace.processes.push_back(std::move(info));
}

/// How many recordings a trace holds already.
std::uint32_t part_count(const Trace& trace) {
  std::uint32_t count = 1;
  for (const ProcessInfo& process : trace.processes) count = std::max(count, process.part + 1);
  return count;
}

template <class Event>
void append(std::vector<Event>& to, std::vector<Event>&& more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  more = {};
}

/// Numbers of names, shapes, threads and processes as the target has them.
void renumber(Trace& trace, Trace& target, LaunchShapes& shapes) {
  std::vector<NameId> names;
  for (NameId i = 0; i < trace.names.size(); ++i)
    names.push_back(target.names.intern(trace.names.text(i)));
  std::vector<std::uint32_t> shape_ids;
  for (const LaunchShape& shape : trace.shapes) shape_ids.push_back(shapes.intern(shape));
  const auto first_thread = static_cast<std::uint32_t>(target.threads.size());
  const auto first_process = static_cast<std::uint32_t>(target.processes.size());
  const auto before = static_cast<std::uint32_t>(target.python_frames.size() - 1);
  const auto frame_number = [&](std::uint32_t n) { return n == 0 ? 0 : n + before; };
  for (PythonFrame& frame : trace.python_frames) {
    frame.function = names[frame.function];
    frame.file = names[frame.file];
    frame.caller = frame_number(frame.caller);
  }
  for_each_event(trace, [&](auto& event) {
    event.process += first_process;
    if constexpr (requires { event.name; }) event.name = names[event.name];
    if constexpr (requires { event.stack; }) event.stack = names[event.stack];
    if constexpr (requires { event.arguments; }) event.arguments = names[event.arguments];
    if constexpr (requires { event.thread; }) event.thread += first_thread;
    if constexpr (requires { event.frame; }) event.frame = frame_number(event.frame);
    if constexpr (requires { event.to_thread; }) event.to_thread += first_thread;
    if constexpr (requires { event.shape; }) {
      event.shape = shape_ids[event.shape];
      event.stage = names[event.stage];
    }
  });
}

/// Of parts of traces; where one is whole, steps are found anew.
void append_steps(Trace& target, Trace& trace) {
  if (!target.steps || !trace.steps) return target.steps.reset();
  const auto first_process = static_cast<std::uint32_t>(target.processes.size());
  for (StepRange& step : *trace.steps) step.process += first_process;
  append(*target.steps, std::move(*trace.steps));
}

void append_all(Trace& target, Trace&& trace) {
  append_steps(target, trace);
  append(target.ops, std::move(trace.ops));
  append(target.calls, std::move(trace.calls));
  append(target.ranges, std::move(trace.ranges));
  append(target.python, std::move(trace.python));
  append(target.async_ranges, std::move(trace.async_ranges));
  append(target.gpu_ranges, std::move(trace.gpu_ranges));
  append(target.flows, std::move(trace.flows));
  append(target.instants, std::move(trace.instants));
  append(target.overheads, std::move(trace.overheads));
  append(target.syncs, std::move(trace.syncs));
  append(target.counters, std::move(trace.counters));
  append(target.memory, std::move(trace.memory));
  append(target.python_samples, std::move(trace.python_samples));
  trace.python_frames.erase(trace.python_frames.begin());  // each has its own that stands for none
  append(target.python_frames, std::move(trace.python_frames));
  append(target.threads, std::move(trace.threads));
  const std::uint32_t first_part = part_count(target);
  for (ProcessInfo& process : trace.processes) process.part += first_part;
  for (DeviceInfo& device : trace.devices) device.part += first_part;
  append(target.processes, std::move(trace.processes));
  append(target.devices, std::move(trace.devices));
  target.source.events += trace.source.events;
  target.source.bytes += trace.source.bytes;
  if (target.source.kept && trace.source.kept) {
    target.source.kept->ops += trace.source.kept->ops;
    target.source.kept->of_ops += trace.source.kept->of_ops;
    target.source.kept->calls += trace.source.kept->calls;
    target.source.kept->of_calls += trace.source.kept->of_calls;
  }
  target.source.untimed_ops += trace.source.untimed_ops;
  target.source.holds_overhead &= trace.source.holds_overhead;
}

}  // namespace

void sort_by_rank(std::vector<Trace>& traces) {
  std::stable_sort(traces.begin(), traces.end(), [](const Trace& a, const Trace& b) {
    return a.source.rank.value_or(INT64_MAX) < b.source.rank.value_or(INT64_MAX);
  });
}

Clocks align_traces(std::vector<Trace>& traces) {
  sort_by_rank(traces);
  for (Trace& trace : traces) name_process(trace);
  const Placement placement = align(traces);
  for (std::size_t i = 1; i < traces.size(); ++i)
    shift_times(traces[i], placement.shift_ns[i], traces[i].source.path);
  return placement.clocks;
}

Trace merge_traces(std::vector<Trace> traces) {
  expects(!traces.empty(), "at least one trace");
  if (traces.size() == 1) return std::move(traces.front());
  const Clocks clocks = align_traces(traces);
  return join_traces(std::move(traces), clocks);
}

Trace join_traces(std::vector<Trace> traces, const Clocks& clocks) {
  expects(traces.size() > 1, "traces that were aligned");
  Trace target = std::move(traces.front());
  LaunchShapes shapes(target.shapes);
  for (std::size_t i = 1; i < target.shapes.size(); ++i) shapes.adopt(i);
  for (std::size_t i = 1; i < traces.size(); ++i) {
    renumber(traces[i], target, shapes);
    append_all(target, std::move(traces[i]));
  }
  target.source.format = "merged";
  target.source.clocks = clocks;
  target.source.path += " and " + std::to_string(traces.size() - 1) + " more";
  target.source.rank.reset();
  std::erase_if(target.other_metadata, [](const auto& pair) {
    return pair.first == "distributedInfo" || pair.first == "deviceProperties";
  });
  finish(target);
  return target;
}

}  // namespace nsa::trace
