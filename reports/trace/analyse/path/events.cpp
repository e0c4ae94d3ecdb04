// Streams that wait for other streams, and calls that wait for streams.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "graph.hpp"

namespace nsa::trace {
namespace {

std::uint64_t key_of(std::uint32_t process, std::uint64_t correlation) {
  return correlation ^ std::uint64_t{process} << 40;
}

/// The stream of each call that waits for one, or makes it wait, where it was recorded.
std::unordered_map<std::uint64_t, std::int64_t> streams_of_syncs(const Trace& trace) {
  std::unordered_map<std::uint64_t, std::int64_t> out;
  for (const Sync& sync : trace.syncs)
    if (sync.stream >= 0 && sync.correlation != 0)
      out.emplace(key_of(sync.process, sync.correlation), sync.stream);
  return out;
}

/// Calls by their correlation ids, of those names that `wanted` passes.
template <class Wanted>
std::unordered_map<std::uint64_t, std::uint32_t> calls_by_id(const Trace& trace, Wanted wanted) {
  std::unordered_map<std::uint64_t, std::uint32_t> out;
  for (std::uint32_t i = 0; i < trace.calls.size(); ++i)
    if (trace.calls[i].correlation != 0 && wanted(trace.names.text(trace.calls[i].name)))
      out.emplace(key_of(trace.calls[i].process, trace.calls[i].correlation), i);
  return out;
}

bool is_event_call(const std::string& name) { return name.find("Event") != name.npos; }
bool is_stream_wait(const std::string& name) { return name.find("StreamWaitEvent") != name.npos; }

const LaunchedBefore::Stream* stream_of(const LaunchedBefore& launched, std::uint32_t process,
                                        std::int32_t device, std::int64_t number) {
  for (const auto& stream : launched.of(process))
    if (stream.stream == number && stream.device == device) return &stream;
  return nullptr;
}

/// What PyTorch's profiler recorded: which stream waits for what was in another one when its event
/// was recorded there. False where it says nothing.
bool add_recorded(const TraceContext& context, const LaunchedBefore& launched, PathGraph& graph) {
  const Trace& trace = context.trace;
  const auto calls = calls_by_id(trace, is_event_call);
  bool any = false;
  for (const Sync& sync : trace.syncs) {
    if (sync.event_record == 0 || sync.wait_on_stream < 0 || sync.stream < 0) continue;
    const auto waits = calls.find(key_of(sync.process, sync.correlation));
    const auto records = calls.find(key_of(sync.process, sync.event_record));
    if (waits == calls.end() || records == calls.end()) continue;
    if (!is_stream_wait(trace.names.text(trace.calls[waits->second].name))) continue;
    any = true;
    const auto* const from = stream_of(launched, sync.process, sync.device, sync.wait_on_stream);
    const auto* const to = stream_of(launched, sync.process, sync.device, sync.stream);
    if (!from || !to || from == to) continue;
    const std::uint32_t before = launched.last(*from, trace.calls[records->second].start_ns);
    const std::uint32_t after = launched.first_from(*to, trace.calls[waits->second].start_ns);
    if (before == kNone || after == kNone) continue;
    if (trace.ops[before].end_ns <= trace.ops[after].start_ns)
      graph.events_before[after].push_back(before);
  }
  return any;
}

/// Whether an operation began as late as the launch and its stream explain.
std::int64_t explained_ns(const TraceContext& context, const PathGraph& graph, std::uint32_t op) {
  const Trace& trace = context.trace;
  std::int64_t at = trace.calls[context.launch[op]].start_ns + graph.launch_lag_ns;
  const std::uint32_t before = graph.stream_before[op];
  return before == kNone ? at : std::max(at, trace.ops[before].end_ns);
}

/// What ended last in other streams of a process before an operation began, of what was launched
/// before a moment.
std::uint32_t latest_elsewhere(const Trace& trace, const LaunchedBefore& launched, std::uint32_t op,
                               std::int64_t at_ns) {
  const GpuOp& of = trace.ops[op];
  std::uint32_t latest = kNone;
  for (const auto& stream : launched.of(of.process)) {
    if (stream.stream == of.stream && stream.device == of.device) continue;
    const std::uint32_t before = launched.last(stream, at_ns);
    if (before == kNone || trace.ops[before].end_ns > of.start_ns) continue;
    if (latest == kNone || trace.ops[before].end_ns > trace.ops[latest].end_ns) latest = before;
  }
  return latest;
}

/// Calls of a thread that made a stream wait and that no launch answered to yet.
class OpenWaits {
 public:
  /// `stream`: that waits; -1: not known.
  void add(std::int64_t stream, std::int64_t at_ns) {
    std::erase_if(waits_, [=](const Wait& wait) { return wait.stream == stream; });
    waits_.push_back({stream, at_ns});
  }
  /// When the stream was made to wait before this launch there, once.
  std::optional<std::int64_t> take(std::int64_t stream) {
    std::optional<std::int64_t> at_ns;
    std::erase_if(waits_, [&](const Wait& wait) {
      const bool fits = wait.stream == stream || wait.stream < 0;
      if (fits) at_ns = std::max(at_ns.value_or(wait.at_ns), wait.at_ns);
      return fits;
    });
    return at_ns;
  }

 private:
  struct Wait {
    std::int64_t stream, at_ns;
  };
  std::vector<Wait> waits_;  // one a stream
};

/// Without a record of it: after a call that makes a stream wait, the next operation that is
/// launched there waited for what ended last elsewhere before it began, if nothing else explains
/// when it began.
bool add_inferred(const TraceContext& context, const LaunchedBefore& launched, PathGraph& graph) {
  const Trace& trace = context.trace;
  const auto streams = streams_of_syncs(trace);
  std::unordered_map<std::uint32_t, OpenWaits> waits;  // by thread
  std::vector<char> is_wait(trace.names.size(), 0);
  for (const ApiCall& call : trace.calls)
    if (is_wait[call.name] == 0)
      is_wait[call.name] = is_stream_wait(trace.names.text(call.name)) ? 1 : 2;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> launched_ops;  // call, operation
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i)
    if (context.launch[i] != kNone && trace.ops[i].graph_node == 0)
      launched_ops.emplace_back(context.launch[i], i);
  std::sort(launched_ops.begin(), launched_ops.end());
  bool any = false;
  std::uint32_t c = 0;
  for (const auto& [launch, op] : launched_ops) {
    for (; c <= launch; ++c) {
      const ApiCall& call = trace.calls[c];
      if (is_wait[call.name] != 1) continue;
      const auto stream = streams.find(key_of(call.process, call.correlation));
      waits[call.thread].add(stream == streams.end() ? -1 : stream->second, call.start_ns);
    }
    const auto of_thread = waits.find(trace.calls[launch].thread);
    if (of_thread == waits.end()) continue;
    const auto wait = of_thread->second.take(trace.ops[op].stream);
    if (!wait) continue;
    const std::uint32_t latest = latest_elsewhere(trace, launched, op, *wait);
    if (latest == kNone || trace.ops[latest].end_ns <= explained_ns(context, graph, op)) continue;
    graph.events_before[op].push_back(latest);
    any = true;
  }
  return any;
}

}  // namespace

void add_event_edges(const TraceContext& context, const LaunchedBefore& launched,
                     PathGraph& graph) {
  if (add_recorded(context, launched, graph)) {
    graph.events = "recorded";
  } else {
    graph.events = add_inferred(context, launched, graph) ? "inferred" : "none";
  }
}

void add_host_waits(const TraceContext& context, const LaunchedBefore& launched, PathGraph& graph) {
  const Trace& trace = context.trace;
  const auto streams = streams_of_syncs(trace);
  for (std::uint32_t i = 0; i < trace.calls.size(); ++i) {
    const WaitKind kind = context.wait[i];
    if (kind == WaitKind::none || kind == WaitKind::module_loading) continue;
    const ApiCall& call = trace.calls[i];
    const auto own = call.correlation == 0 ? streams.end()
                                           : streams.find(key_of(call.process, call.correlation));
    for (const auto& stream : launched.of(call.process)) {
      if (own != streams.end() && own->second != stream.stream) continue;
      // A copy waits for itself: it is launched by the call.
      const std::uint32_t op = launched.last(stream, call.start_ns + 1);
      if (op != kNone && trace.ops[op].end_ns <= call.end_ns) graph.waits_for[i].push_back(op);
    }
  }
}

}  // namespace nsa::trace
