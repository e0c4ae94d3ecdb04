#include "sink.hpp"

#include <algorithm>
#include <array>

#include "nsa/schemas/error.hpp"
#include "read/finish.hpp"
#include "read/kernel_names.hpp"

namespace nsa::trace {

JsonSink::JsonSink(Trace& trace, Fail fail)
    : trace_(trace), fail_(std::move(fail)), shapes_(trace.shapes) {}

JsonSink::Category JsonSink::category_of(std::string_view name) const {
  struct Row {
    std::string_view name;
    Category category;
  };
  // The second name is that of 2021's files.
  static constexpr std::array kRows{
      Row{"cpu_op", Category::cpu_op},
      Row{"cuda_runtime", Category::runtime},
      Row{"kernel", Category::kernel},
      Row{"cuda_driver", Category::driver},
      Row{"gpu_memcpy", Category::copy},
      Row{"gpu_memset", Category::set},
      Row{"user_annotation", Category::annotation},
      Row{"gpu_user_annotation", Category::gpu_range},
      Row{"nvtx", Category::nvtx},
      Row{"overhead", Category::overhead},
      Row{"cuda_sync", Category::sync},
      Row{"python_function", Category::python},
      Row{"Operator", Category::cpu_op},
      Row{"Runtime", Category::runtime},
      Row{"Kernel", Category::kernel},
      Row{"Memcpy", Category::copy},
      Row{"Memset", Category::set},
      Row{"hip_runtime", Category::runtime},
      Row{"xpu_runtime", Category::runtime},
      Row{"mtia_runtime", Category::runtime},
      Row{"privateuse1_runtime", Category::runtime},
      Row{"xpu_driver", Category::driver},
      Row{"privateuse1_driver", Category::driver},
      Row{"gpu_graph", Category::graph},
      Row{"stage", Category::annotation},  // run --stage-trace
  };
  const auto at =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.name == name; });
  return at == kRows.end() ? Category::other : at->category;
}

/// A list that moves takes its memory twice, and room that is never filled takes none: what is
/// nearly full gets room for the rest of the text, by what was read so far.
void JsonSink::make_room(double share_read) {
  constexpr std::size_t kNearly = 1 << 14;  // more than the text that is looked at at once holds
  constexpr double kLeastGrowth = 1.5, kMostGrowth = 16;
  const double growth = std::clamp(1.1 / share_read, kLeastGrowth, kMostGrowth);
  const auto grow = [&](auto& events) {
    if (events.size() > kNearly && events.capacity() - events.size() < kNearly)
      events.reserve(static_cast<std::size_t>(growth * static_cast<double>(events.size())));
  };
  grow(trace_.ops);
  grow(trace_.calls);
  grow(trace_.ranges);
  grow(trace_.python);
  grow(trace_.memory);
  grow(trace_.instants);
  grow(trace_.counters);
}

void JsonSink::add(const JsonEvent& event) {
  ++trace_.source.events;
  if (event.phase == "X") {
    add_complete(event);
  } else if (event.phase == "B") {
    begin(event);
  } else if (event.phase == "E") {
    end(event);
  } else if (event.phase == "s") {
    ++trace_.source.flow_starts;
    add_flow_end(event, true);
  } else if (event.phase == "f") {
    ++trace_.source.flow_ends;
    add_flow_end(event, false);
  } else if (event.phase == "i" || event.phase == "I") {
    event.name == "[memory]" ? add_memory(event) : add_instant(event);
  } else if (event.phase == "C") {
    add_counter(event);
  } else if (event.phase == "b") {
    begin_async(event);
  } else if (event.phase == "e") {
    end_async(event);
  } else if (event.phase == "M") {
    add_metadata(event);
  } else if (event.phase.empty() && !(event.name.empty() && event.time.empty())) {
    fail_(event.at, "an event without \"ph\"");  // JAX ends its files with an empty object
  }
}

void JsonSink::add_complete(const JsonEvent& event) {
  const Category category = category_of(event.category);
  if (category == Category::other) return;
  const auto range = [&](RangeKind kind) {
    const Times t = times_of(event);
    trace_.ranges.push_back({.start_ns = t.start,
                             .end_ns = t.end,
                             .name = trace_.names.intern(event.name),
                             .thread = thread_of(event),
                             .process = pid_of(event),
                             .kind = kind,
                             .stack = text(event.stack)});
    describe(event, trace_.ranges.back());
  };
  switch (category) {
    case Category::kernel:
      return add_op(event, OpKind::kernel);
    case Category::copy:
      return add_op(event, OpKind::copy);
    case Category::set:
      return add_op(event, OpKind::set);
    case Category::graph:
      return add_op(event, OpKind::graph);
    case Category::runtime:
      return add_call(event, false);
    case Category::driver:
      return add_call(event, true);
    case Category::cpu_op:
      return range(RangeKind::cpu_op);
    case Category::annotation:
      return range(RangeKind::annotation);
    case Category::nvtx:
      return range(RangeKind::nvtx);
    case Category::overhead:
      if (const Times t = times_of(event); true)
        trace_.overheads.push_back({t.start, t.end, trace_.names.intern(event.name), pid_of(event),
                                    is_profiler_overhead(event.name)});
      return;
    case Category::sync:
      return add_sync(event);
    case Category::gpu_range:
      return add_gpu_range(event);
    case Category::python:
      return add_python(event);
    case Category::other:
      return;
  }
}

/// What links an operator to others. Numbers that do not fit are as good as none.
void JsonSink::describe(const JsonEvent& event, HostRange& range) {
  range.arguments = text(event.kept);
  range.external = external_of(event);
  const std::int64_t sequence = number_or_none(event.sequence);
  range.sequence = sequence > INT32_MAX ? -1 : static_cast<std::int32_t>(sequence);
  const std::int64_t thread = number_or_none(event.forward_thread);
  range.forward_thread =
      static_cast<std::uint16_t>(std::clamp<std::int64_t>(thread, 0, UINT16_MAX));
}

std::uint32_t JsonSink::external_of(const JsonEvent& event) {
  const std::int64_t id = number_or_none(event.external);
  return id < 0 || id > UINT32_MAX ? 0 : static_cast<std::uint32_t>(id);
}

void JsonSink::add_op(const JsonEvent& event, OpKind kind) {
  const Times t = times_of(event);
  GpuOp op{.start_ns = t.start, .end_ns = t.end, .kind = kind};
  op.correlation = identity(event.correlation, "correlation", event);
  op.name = trace_.names.intern(demangled(event.name));
  op.stage = text(event.stage);
  op.arguments = text(event.kept);
  op.external = external_of(event);
  op.device = device_of(event);
  op.stream = stream_of(event);
  op.process = pid_of(event);
  op.graph = small(event.graph, "graph id", event);
  op.graph_node = identity(event.graph_node, "graph node id", event);
  op.context = small(event.context, "context", event);
  if (kind == OpKind::kernel) {
    op.shape = shape_of(event);
  } else if (kind != OpKind::graph) {
    op.bytes = identity(event.bytes, "bytes", event);
  }
  nsa::trace::add_op(trace_, op);
}

constexpr std::uint32_t kMostExternal = UINT32_MAX >> 1;  // that ApiCall holds

void JsonSink::add_call(const JsonEvent& event, bool driver) {
  const Times t = times_of(event);
  ApiCall call{.start_ns = t.start, .end_ns = t.end, .driver = driver};
  call.correlation = identity(event.correlation, "correlation", event);
  call.name = trace_.names.intern(without_version(event.name));
  call.thread = thread_of(event);
  call.process = pid_of(event);
  const std::uint32_t external = external_of(event);
  call.external = external <= kMostExternal ? external & kMostExternal : 0;
  trace_.calls.push_back(call);
}

/// Ids that are no numbers are none: viewers show these events without them.
void JsonSink::add_python(const JsonEvent& event) {
  const Times t = times_of(event);
  PythonCall call{.start_ns = t.start, .end_ns = t.end};
  call.id = number_or_none(event.python_id);
  call.parent = number_or_none(event.python_parent);
  call.module = number_or_none(event.python_module);
  call.name = trace_.names.intern(event.name);
  call.thread = thread_of(event);
  call.process = pid_of(event);
  trace_.python.push_back(call);
}

void JsonSink::add_memory(const JsonEvent& event) {
  if (event.device_type != "1") return;  // 1: CUDA (0 is the CPU's memory)
  MemoryEvent m;
  m.at_ns = time_of(event);
  m.bytes = number(event.bytes, "Bytes", event);
  m.address = identity(event.address, "Addr", event);
  const auto total = [&](std::string_view token, const char* what) {
    return token.empty() ? kNotStated : number(token, what, event);
  };
  m.allocated_bytes = total(event.total_allocated, "Total Allocated");
  m.reserved_bytes = total(event.total_reserved, "Total Reserved");
  m.device = device_of(event);
  m.process = pid_of(event);
  trace_.memory.push_back(m);
}

/// Pairs are ranges of a thread. What the GPU did and what was called are complete events (ph X) in
/// every file that is known; taken for ranges they would be missing in the figures.
void JsonSink::begin(const JsonEvent& event) {
  switch (category_of(event.category)) {
    case Category::kernel:
    case Category::graph:
    case Category::copy:
    case Category::set:
    case Category::runtime:
    case Category::driver:
      fail_(event.at, "a GPU operation or API call as a pair (ph B and E); only ph X is read");
    default:
      break;
  }
  const std::int64_t start = time_of(event);
  begun_[thread_of(event)].push_back({start, start, trace_.names.intern(event.name),
                                      thread_of(event), pid_of(event), RangeKind::nvtx, true});
}

void JsonSink::end(const JsonEvent& event) {
  auto& open = begun_[thread_of(event)];
  if (open.empty()) return;  // begun before the recording
  HostRange range = open.back();
  open.pop_back();
  range.end_ns = time_of(event);
  range.open = false;
  check_end(range.start_ns, range.end_ns, event);
  trace_.ranges.push_back(range);
}

}  // namespace nsa::trace
