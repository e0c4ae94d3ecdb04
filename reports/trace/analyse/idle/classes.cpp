#include <algorithm>
#include <set>

#include "analyse/context.hpp"
#include "analyse/launches.hpp"

namespace nsa::trace {
namespace {

/// Times in which an operation was launched and had not started.
IntervalSet pending(const TraceContext& context, const OpIndices& ops) {
  std::vector<Interval> out;
  out.reserve(ops.size());
  for (const std::uint32_t i : ops) {
    if (context.launch[i] == kNone) continue;
    const std::int64_t launched = context.trace.calls[context.launch[i]].start_ns;
    const std::int64_t started = context.trace.ops[i].start_ns;
    if (launched < started) out.push_back({launched, started});
  }
  return union_of(std::move(out));
}

/// Those gaps that end with operations of which no launch was recorded.
IntervalSet ended_by_unknown(const TraceContext& context, const OpIndices& ops,
                             const IntervalSet& gaps) {
  IntervalSet out;
  auto op = ops.begin();
  for (const Interval& gap : gaps) {
    const auto start = [&](std::uint32_t i) { return context.trace.ops[i].start_ns; };
    while (op != ops.end() && start(*op) < gap.end) ++op;
    bool known = op == ops.end() || start(*op) != gap.end;
    for (; op != ops.end() && start(*op) == gap.end; ++op) known |= context.launch[*op] != kNone;
    if (!known) out.push_back(gap);
  }
  return out;
}

std::set<std::uint32_t> processes_of(const TraceContext& context, const OpIndices& ops) {
  std::set<std::uint32_t> out;
  std::uint32_t last = kNone;
  for (const std::uint32_t i : ops) {
    const std::uint32_t process = context.trace.ops[i].process;
    if (process != last) out.insert(process);
    last = process;
  }
  return out;
}

/// Of all processes that share a device.
IntervalSet of_processes(const std::vector<IntervalSet>& by_process,
                         const std::set<std::uint32_t>& processes) {
  std::vector<Interval> all;
  for (const std::uint32_t p : processes)
    if (p < by_process.size()) all.insert(all.end(), by_process[p].begin(), by_process[p].end());
  return union_of(std::move(all));
}

}  // namespace

IdleClasses classify_idle(const TraceContext& context, const OpIndices& ops, IntervalSet gaps) {
  IdleClasses out;
  const IntervalSet unknown =
      context.trace.calls.empty() ? IntervalSet() : ended_by_unknown(context, ops, gaps);
  IntervalSet rest = std::move(gaps);
  const std::set<std::uint32_t> processes = processes_of(context, ops);
  const auto take = [&](const IntervalSet& cause) -> std::int64_t {
    if (cause.empty()) return 0;
    const std::int64_t all = length(rest);
    rest = difference(rest, cause);
    return all - length(rest);
  };
  if (context.trace.source.holds_overhead)
    out.profiler_overhead = take(of_processes(context.overheads, processes));
  if (context.trace.calls.empty()) {
    out.other = length(rest);
    return out;
  }
  out.sync = take(of_processes(context.syncs, processes));
  out.blocking_call = take(of_processes(context.blocking, processes));
  out.kernel_wait = take(pending(context, ops));
  out.other = take(unknown);
  out.host_wait = length(rest);
  return out;
}

}  // namespace nsa::trace
