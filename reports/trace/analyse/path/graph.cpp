#include "graph.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
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

/// An end that is still to come. At one time ends come before starts, but for the end of what took
/// none.
struct End {
  std::int64_t at_ns = 0;
  std::uint32_t number = 0;
  bool at_start = false;  // of what took no time
  bool operator>(const End& other) const {
    if (at_ns != other.at_ns) return at_ns > other.at_ns;
    return at_start != other.at_start ? at_start : number > other.number;
  }
};

/// Takes operations and calls, each in order of start, and hands out nodes by their times.
class Merge {
 public:
  explicit Merge(Numbers& order) : order_(order) {}

  void add(std::uint32_t start_node, std::int64_t start_ns, std::int64_t end_ns) {
    end_before(start_ns);
    order_.push_back(start_node);
    ends_.push({end_ns, start_node + 1, start_ns == end_ns});
  }
  void finish() {
    for (; !ends_.empty(); ends_.pop()) order_.push_back(ends_.top().number);
  }

 private:
  void end_before(std::int64_t start_ns) {
    for (; !ends_.empty(); ends_.pop()) {
      const End& next = ends_.top();
      if (next.at_ns > start_ns || (next.at_ns == start_ns && next.at_start)) break;
      order_.push_back(next.number);
    }
  }

  Numbers& order_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

void add_order(const Trace& trace, PathGraph& graph) {
  graph.order.reserve(2 * (trace.ops.size() + trace.calls.size()));
  Merge merge(graph.order);
  const std::uint32_t first_call = graph.first_call_node(trace);
  std::uint32_t op = 0, call = 0;
  while (op < trace.ops.size() || call < trace.calls.size()) {
    const bool takes_op =
        call == trace.calls.size() ||
        (op < trace.ops.size() && trace.ops[op].start_ns <= trace.calls[call].start_ns);
    if (takes_op) {
      merge.add(2 * op, trace.ops[op].start_ns, trace.ops[op].end_ns);
      ++op;
    } else {
      merge.add(first_call + 2 * call, trace.calls[call].start_ns, trace.calls[call].end_ns);
      ++call;
    }
  }
  merge.finish();
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

LaunchedBefore::LaunchedBefore(const TraceContext& context) {
  const Trace& trace = context.trace;
  std::map<StreamKey, std::vector<std::pair<std::int64_t, std::uint32_t>>> streams;
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i)
    if (context.launch[i] != kNone)
      streams[stream_of(trace.ops[i])].emplace_back(trace.calls[context.launch[i]].start_ns, i);
  for (auto& [key, ops] : streams) {
    std::stable_sort(ops.begin(), ops.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const std::uint32_t process = std::get<0>(key);
    if (of_process_.size() <= process) of_process_.resize(process + std::size_t{1});
    Stream& stream = of_process_[process].emplace_back();
    std::tie(stream.process, stream.device, stream.stream) = key;
    for (const auto& [launched, op] : ops) {
      stream.ops.push_back(op);
      stream.launched_ns.push_back(launched);
    }
  }
}

std::uint32_t LaunchedBefore::last(const Stream& stream, std::int64_t at_ns) {
  const auto behind = std::lower_bound(stream.launched_ns.begin(), stream.launched_ns.end(), at_ns);
  if (behind == stream.launched_ns.begin()) return kNone;
  return stream.ops[static_cast<std::size_t>(behind - stream.launched_ns.begin()) - 1];
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
  }
  add_order(context.trace, graph);
  return graph;
}

}  // namespace nsa::trace
