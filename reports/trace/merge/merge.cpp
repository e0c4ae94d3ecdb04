#include "nsa/trace/merge.hpp"

#include <algorithm>

#include "nsa/schemas/error.hpp"
#include "read/finish.hpp"
#include "read/launch_shapes.hpp"

namespace nsa::trace {
namespace {

/// Machine and clock, where both are known.
std::string clock_of(const Trace& trace) {
  if (trace.processes.empty()) return {};
  const auto& metadata = trace.processes.front().metadata;
  const auto host = metadata.find("host"), clock = metadata.find("clock");
  if (host == metadata.end() || clock == metadata.end()) return {};
  return host->second + " " + clock->second;
}

/// Every trace says of itself what the merged one has to say of its processes.
void name_process(Trace& trace) {
  if (!trace.processes.empty()) return;
  ProcessInfo info;
  info.rank = trace.source.rank;
  info.world_size = trace.source.world_size;
  if (!trace.threads.empty()) info.pid = trace.threads.front().pid;
  trace.processes.push_back(std::move(info));
}

std::int64_t shift_onto(const Trace& target, const Trace& trace) {
  const std::string clock = clock_of(trace);
  if (!clock.empty() && clock == clock_of(target)) return 0;
  for (const Trace* t : {&target, &trace})
    if (!t->source.base_time_ns)
      throw InputError(t->source.path +
                       ": says no absolute time (baseTimeNanoseconds), so that it cannot be put "
                       "beside other traces");
  std::int64_t shift = 0;
  if (__builtin_sub_overflow(*trace.source.base_time_ns, *target.source.base_time_ns, &shift))
    throw InputError(trace.source.path + ": its absolute time is out of range");
  return shift;
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
  for_each_event(trace, [&](auto& event) {
    event.process += first_process;
    if constexpr (requires { event.name; }) event.name = names[event.name];
    if constexpr (requires { event.stack; }) event.stack = names[event.stack];
    if constexpr (requires { event.thread; }) event.thread += first_thread;
    if constexpr (requires { event.shape; }) {
      event.shape = shape_ids[event.shape];
      event.stage = names[event.stage];
    }
  });
}

void append_all(Trace& target, Trace&& trace) {
  append(target.ops, std::move(trace.ops));
  append(target.calls, std::move(trace.calls));
  append(target.ranges, std::move(trace.ranges));
  append(target.python, std::move(trace.python));
  append(target.async_ranges, std::move(trace.async_ranges));
  append(target.instants, std::move(trace.instants));
  append(target.overheads, std::move(trace.overheads));
  append(target.syncs, std::move(trace.syncs));
  append(target.counters, std::move(trace.counters));
  append(target.memory, std::move(trace.memory));
  append(target.threads, std::move(trace.threads));
  append(target.processes, std::move(trace.processes));
  for (const DeviceInfo& device : trace.devices) {
    const auto same = [&](const DeviceInfo& known) { return known.id == device.id; };
    if (std::none_of(target.devices.begin(), target.devices.end(), same))
      target.devices.push_back(device);
  }
  target.source.events += trace.source.events;
  target.source.bytes += trace.source.bytes;
  target.source.untimed_ops += trace.source.untimed_ops;
  target.source.holds_overhead &= trace.source.holds_overhead;
}

}  // namespace

Trace merge_traces(std::vector<Trace> traces) {
  expects(!traces.empty(), "at least one trace");
  if (traces.size() == 1) return std::move(traces.front());
  std::stable_sort(traces.begin(), traces.end(), [](const Trace& a, const Trace& b) {
    return a.source.rank.value_or(INT64_MAX) < b.source.rank.value_or(INT64_MAX);
  });
  for (Trace& trace : traces) name_process(trace);
  Trace target = std::move(traces.front());
  LaunchShapes shapes(target.shapes);
  for (std::size_t i = 1; i < target.shapes.size(); ++i) shapes.adopt(i);
  for (std::size_t i = 1; i < traces.size(); ++i) {
    const std::int64_t shift = shift_onto(target, traces[i]);
    shift_times(traces[i], shift, traces[i].source.path);
    renumber(traces[i], target, shapes);
    append_all(target, std::move(traces[i]));
  }
  target.source.format = "merged";
  target.source.path += " and " + std::to_string(traces.size() - 1) + " more";
  target.source.rank.reset();
  std::erase_if(target.other_metadata, [](const auto& pair) {
    return pair.first == "distributedInfo" || pair.first == "deviceProperties";
  });
  finish(target);
  return target;
}

}  // namespace nsa::trace
