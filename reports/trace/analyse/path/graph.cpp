#include "graph.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyse/communication/match.hpp"
#include "analyse/communication/patterns.hpp"
#include "analyse/sums.hpp"

namespace nsa::trace {
namespace {

using StreamKey = std::tuple<std::uint32_t, std::int32_t, std::int64_t>;

StreamKey stream_of(const GpuOp& op) { return {op.process, op.device, op.stream}; }

/// The median of what operations take to start that nothing in their stream holds up.
std::int64_t launch_lag(const TraceContext& context, const PathGraph& graph) {
  const Trace& trace = context.trace;
  std::vector<std::int64_t> lags;
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    const std::uint32_t before = graph.stream_before[i], launch = context.launch[i];
    if (launch == kNone || trace.ops[i].graph_node != 0) continue;
    const std::int64_t launched = trace.calls[launch].start_ns;
    if (before != kNone && trace.ops[before].end_ns > launched) continue;
    if (trace.ops[i].start_ns >= launched) lags.push_back(trace.ops[i].start_ns - launched);
  }
  return lags.empty() ? 0 : nearest_rank(lags, 50);
}

}  // namespace

void add_stream_order(const TraceContext& context, PathGraph& graph) {
  std::map<StreamKey, std::uint32_t> last;
  const Trace& trace = context.trace;
  graph.stream_before.assign(trace.ops.size(), kNone);
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    const auto [at, first] = last.try_emplace(stream_of(trace.ops[i]), i);
    if (first) continue;
    graph.stream_before[i] = at->second;
    at->second = i;
  }
  graph.launch_lag_ns = launch_lag(context, graph);
}

void add_collective_edges(const TraceContext& context, PathGraph& graph) {
  const CommCalls calls = comm_calls(context);
  for (const auto& row : match(calls, context.trace.one_time_line()).collectives) {
    if (row.size() < 2) continue;
    if (!waits_for_all(calls.kinds[calls.calls[row.front()].kind].collective)) continue;
    Numbers ops;
    for (const std::uint32_t i : row) ops.push_back(calls.calls[i].first_op);
    std::int64_t last_start = -kMaxTimeNs, first_end = kMaxTimeNs;
    for (const std::uint32_t op : ops) {
      last_start = std::max(last_start, context.trace.ops[op].start_ns);
      first_end = std::min(first_end, context.trace.ops[op].end_ns);
    }
    if (last_start > first_end) continue;  // clocks that are a little apart
    graph.collective.resize(context.trace.ops.size(), kNone);
    for (const std::uint32_t op : ops)
      graph.collective[op] = static_cast<std::uint32_t>(graph.collectives.size());
    graph.collectives.push_back(std::move(ops));
  }
}

LaunchedBefore::LaunchedBefore(const TraceContext& context) : context_(context) {
  const Trace& trace = context.trace;
  std::map<StreamKey, Numbers> streams;
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i)
    if (context.launch[i] != kNone) streams[stream_of(trace.ops[i])].push_back(i);
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
    return launched_ns(a) < launched_ns(b);
  };
  for (auto& [key, ops] : streams) {
    if (!std::is_sorted(ops.begin(), ops.end(), earlier))
      std::stable_sort(ops.begin(), ops.end(), earlier);
    const auto& [process, device, stream] = key;
    if (of_process_.size() <= process) of_process_.resize(process + std::size_t{1});
    of_process_[process].push_back({process, device, stream, std::move(ops)});
  }
}

Numbers::const_iterator LaunchedBefore::from(const Stream& stream, std::int64_t at_ns) const {
  return std::partition_point(stream.ops.begin(), stream.ops.end(),
                              [&](std::uint32_t op) { return launched_ns(op) < at_ns; });
}

std::uint32_t LaunchedBefore::last(const Stream& stream, std::int64_t at_ns) const {
  const auto behind = from(stream, at_ns);
  return behind == stream.ops.begin() ? kNone : behind[-1];
}

std::uint32_t LaunchedBefore::first_from(const Stream& stream, std::int64_t at_ns) const {
  const auto at = from(stream, at_ns);
  return at == stream.ops.end() ? kNone : *at;
}

const std::vector<LaunchedBefore::Stream>& LaunchedBefore::of(std::uint32_t process) const {
  return process < of_process_.size() ? of_process_[process] : none_;
}

PathGraph path_graph(const TraceContext& context) {
  PathGraph graph;
  add_stream_order(context, graph);
  add_collective_edges(context, graph);
  add_host_order(context, graph);
  {
    const LaunchedBefore launched(context);
    add_event_edges(context, launched, graph);
    add_host_waits(context, launched, graph);
    add_full_queues(context, launched, graph);
  }
  return graph;
}

}  // namespace nsa::trace
