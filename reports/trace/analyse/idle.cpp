#include <algorithm>

#include "context.hpp"
#include "launches.hpp"

namespace nsa::trace {
namespace {

/// Times in which an operation was launched and had not started.
IntervalSet pending(const Context& context, const OpIndices& ops) {
  std::vector<Interval> out;
  for (const std::uint32_t i : ops) {
    if (context.launch[i] == kNone) continue;
    const std::int64_t launched = context.trace.calls[context.launch[i]].start_ns;
    const std::int64_t started = context.trace.ops[i].start_ns;
    if (launched < started) out.push_back({launched, started});
  }
  return union_of(std::move(out));
}

/// Those gaps that end with operations of which no launch was recorded.
IntervalSet ended_by_unknown(const Context& context, const OpIndices& ops,
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

}  // namespace

IdleClasses classify_idle(const Context& context, const OpIndices& ops, const IntervalSet& gaps) {
  IdleClasses out;
  IntervalSet rest = gaps;
  const auto take = [&](const IntervalSet& cause) {
    const std::int64_t all = length(rest);
    rest = difference(rest, cause);
    return all - length(rest);
  };
  if (context.trace.source.holds_overhead) out.profiler_overhead = take(context.overheads);
  if (context.trace.calls.empty()) {
    out.other = length(rest);
    return out;
  }
  out.sync = take(context.syncs);
  out.kernel_wait = take(pending(context, ops));
  out.other = take(ended_by_unknown(context, ops, gaps));
  out.host_wait = length(rest);
  return out;
}

}  // namespace nsa::trace
