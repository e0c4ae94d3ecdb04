// The host's side: launches, waits, nesting.
#include <algorithm>
#include <map>
#include <tuple>

#include "launches.hpp"
#include "parts.hpp"
#include "sums.hpp"

namespace nsa::trace {
namespace {

/// Ends of the spans of one thread that are open, and how many spans end after the one around
/// them.
class Nesting {
 public:
  void add(std::int64_t start_ns, std::int64_t end_ns) {
    while (!ends_.empty() && ends_.back() <= start_ns) ends_.pop_back();
    overlaps_ += !ends_.empty() && ends_.back() < end_ns;
    ends_.push_back(end_ns);
  }
  std::int64_t overlaps() const { return overlaps_; }

 private:
  std::vector<std::int64_t> ends_;
  std::int64_t overlaps_ = 0;
};

LaunchToStart statistics(std::vector<std::int64_t>& delays) {
  __int128 sum = 0;
  for (const std::int64_t d : delays) sum += d;
  const auto n = static_cast<__int128>(delays.size());
  LaunchToStart out;
  out.mean = static_cast<std::int64_t>((2 * sum + (sum < 0 ? -n : n)) / (2 * n));  // rounded
  out.p50 = nearest_rank(delays, 50);
  out.p99 = nearest_rank(delays, 99);
  out.max = *std::max_element(delays.begin(), delays.end());
  return out;
}

}  // namespace

void add_launches(const TraceContext& context, Summary& out) {
  const Trace& trace = context.trace;
  std::map<std::string, std::int64_t> apis;
  std::vector<std::int64_t> delays;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    if (context.launch[i] == kNone) continue;
    const ApiCall& call = trace.calls[context.launch[i]];
    ++apis[trace.names.text(call.name)];
    delays.push_back(trace.ops[i].start_ns - call.start_ns);
  }
  out.gpu_ops_with_launch = static_cast<std::int64_t>(delays.size());
  out.gpu_ops_without_launch = static_cast<std::int64_t>(trace.ops.size() - delays.size());
  out.launch_apis = std::move(apis);
  if (delays.empty()) {
    out.null_reasons["launch_to_start_ns"] = "no operation refers to a recorded launch call";
  } else {
    out.launch_to_start_ns = statistics(delays);
  }
}

void add_host_syncs(const TraceContext& context, const StageClasses& classes, Summary& out) {
  const Trace& trace = context.trace;
  std::map<std::tuple<NameId, WaitKind, int>, HostSync> rows;
  const auto count = [&](NameId name, WaitKind wait, int c, std::int64_t ns) {
    if (wait == WaitKind::none) return;
    HostSync& row = rows[{name, wait, c}];
    row.api = trace.names.text(name);
    row.wait = to_text(wait);
    if (c >= 0) {
      row.stage = classes.names[static_cast<std::size_t>(c)];
      row.stage_inferred = classes.inferred[static_cast<std::size_t>(c)] != 0;
    }
    ++row.count;
    add_to(row.total_ns, ns);
  };
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const ApiCall& call = trace.calls[i];
    count(call.name, context.wait[i], classes.of_call[i], call.end_ns - call.start_ns);
  }
  for (const Overhead& o : trace.overheads)
    if (!o.of_profiler)
      count(o.name, wait_of_overhead(trace.names.text(o.name)), -1, o.end_ns - o.start_ns);
  out.host_syncs.emplace();
  for (const auto& [key, row] : rows) out.host_syncs->push_back(row);
  std::stable_sort(out.host_syncs->begin(), out.host_syncs->end(),
                   [](const HostSync& a, const HostSync& b) { return a.total_ns > b.total_ns; });
}

void add_partial_overlaps(const TraceContext& context, Summary& out) {
  const Trace& trace = context.trace;
  std::vector<Nesting> threads(trace.threads.size());
  auto call = trace.calls.begin();
  auto range = trace.ranges.begin();
  const auto earlier = [](const auto& a, const auto& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  };
  while (call != trace.calls.end() || range != trace.ranges.end()) {  // both in that order
    const bool calls_turn =
        range == trace.ranges.end() || (call != trace.calls.end() && earlier(*call, *range));
    if (calls_turn) {
      threads[call->thread].add(call->start_ns, call->end_ns);
      ++call;
    } else {
      if (!range->open) threads[range->thread].add(range->start_ns, range->end_ns);
      ++range;
    }
  }
  std::int64_t overlaps = 0;
  for (const Nesting& thread : threads) overlaps += thread.overlaps();
  out.partial_overlaps_on_a_thread = overlaps;
}

}  // namespace nsa::trace
