#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "analyse/context.hpp"
#include "analyse/launches.hpp"

namespace nsa::trace {
namespace {

/// Times in which an operation was launched and had not started; those that touch a span.
IntervalSet pending(const TraceContext& context, const OpIndices& ops, const Interval& span) {
  std::vector<Interval> out;
  for (const std::uint32_t i : ops) {
    if (context.launch[i] == kNone) continue;
    const std::int64_t launched = context.trace.calls[context.launch[i]].start_ns;
    const std::int64_t started = context.trace.ops[i].start_ns;
    if (launched < started && launched < span.end && span.begin < started)
      out.push_back({launched, started});
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

/// Why a device was idle: the times of a cause, and the sum of what they explain.
struct Cause {
  const IntervalSet& times;
  std::int64_t& total_ns;
};

/// Gives each cause in turn what it explains of the gaps; returns what none of them does. A
/// sixteenth of the gaps at a time: what is left of all of them would be as large again as the
/// gaps, and so would the times of a cause that prepare(span) makes for some of them.
template <class Prepare>
std::int64_t share_out(const IntervalSet& gaps, const std::vector<Cause>& causes, Prepare prepare) {
  const std::size_t together = std::max<std::size_t>(4096, gaps.size() / 16 + 1);
  std::int64_t left = 0;
  for (std::size_t begin = 0; begin < gaps.size(); begin += together) {
    const std::span some = std::span(gaps).subspan(begin, std::min(together, gaps.size() - begin));
    prepare(Interval{some.front().begin, some.back().end});
    IntervalSet rest(some.begin(), some.end());
    for (const Cause& cause : causes) {
      cause.total_ns += length(rest);
      rest = difference(rest, cause.times);
      cause.total_ns -= length(rest);
    }
    left += length(rest);
  }
  return left;
}

}  // namespace

IdleClasses classify_idle(const TraceContext& context, const OpIndices& ops, IntervalSet gaps) {
  IdleClasses out;
  const std::set<std::uint32_t> processes = processes_of(context, ops);
  const IntervalSet recording = context.trace.source.holds_overhead
                                    ? of_processes(context.overheads, processes)
                                    : IntervalSet();
  std::vector<Cause> causes;
  if (context.trace.source.holds_overhead)
    causes.push_back({recording, out.profiler_overhead.emplace(0)});
  if (context.trace.calls.empty()) {
    out.other = share_out(gaps, causes, [](const Interval&) {});
    return out;
  }
  const IntervalSet syncs = of_processes(context.syncs, processes),
                    blocking = of_processes(context.blocking, processes),
                    unknown = ended_by_unknown(context, ops, gaps);
  IntervalSet waiting;
  causes.push_back({syncs, out.sync.emplace(0)});
  causes.push_back({blocking, out.blocking_call.emplace(0)});
  causes.push_back({waiting, out.kernel_wait.emplace(0)});
  causes.push_back({unknown, out.other});
  out.host_wait =
      share_out(gaps, causes, [&](const Interval& span) { waiting = pending(context, ops, span); });
  return out;
}

}  // namespace nsa::trace
