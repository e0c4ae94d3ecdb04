#include "host_at.hpp"

#include <algorithm>

#include "analyse/launches.hpp"

namespace nsa::trace {
namespace {

/// Of events in order of start the last one that began by then.
template <class Events>
std::uint32_t last_before(const Events& events, const std::vector<std::uint32_t>& numbers,
                          std::int64_t at_ns) {
  const auto behind = std::partition_point(
      numbers.begin(), numbers.end(), [&](std::uint32_t i) { return events[i].start_ns <= at_ns; });
  return behind == numbers.begin() ? kNone : *std::prev(behind);
}

}  // namespace

HostAt::HostAt(const Context& context)
    : context_(context),
      calls_(context.trace.threads.size()),
      ranges_(context.trace.threads.size()) {
  const Trace& trace = context.trace;
  for (std::uint32_t i = 0; i < trace.calls.size(); ++i) calls_[trace.calls[i].thread].push_back(i);
  for (std::uint32_t i = 0; i < trace.ranges.size(); ++i)
    if (!trace.ranges[i].open) ranges_[trace.ranges[i].thread].push_back(i);
}

std::uint32_t HostAt::range_at(std::uint32_t thread, std::int64_t at_ns) const {
  const Trace& trace = context_.trace;
  std::uint32_t range = last_before(trace.ranges, ranges_[thread], at_ns);
  while (range != kNone && trace.ranges[range].end_ns <= at_ns) range = context_.tree.parent[range];
  return range;
}

Doing HostAt::doing(std::uint32_t thread, std::int64_t at_ns) const {
  const Trace& trace = context_.trace;
  const std::uint32_t call = last_before(trace.calls, calls_[thread], at_ns);
  if (call != kNone && at_ns < trace.calls[call].end_ns)
    return {"api", trace.names.text(trace.calls[call].name)};
  const std::uint32_t range = range_at(thread, at_ns);
  if (range == kNone) return {"nothing_recorded", ""};
  const HostRange& around = trace.ranges[range];
  return {around.kind == RangeKind::cpu_op ? "operator" : "annotation",
          trace.names.text(around.name)};
}

}  // namespace nsa::trace
