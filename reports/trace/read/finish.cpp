#include "finish.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "nsa/schemas/error.hpp"

namespace nsa::trace {
namespace {

/// Stable, by numbers: std::stable_sort would take half of the events' memory again.
template <class Event, class Earlier>
void sort_in_place(std::vector<Event>& events, Earlier earlier) {
  std::vector<std::uint32_t> from(events.size());  // which event belongs where
  std::iota(from.begin(), from.end(), 0u);
  std::sort(from.begin(), from.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (earlier(events[a], events[b])) return true;
    return !earlier(events[b], events[a]) && a < b;
  });
  for (std::uint32_t first = 0; first < from.size(); ++first) {
    if (from[first] == first) continue;
    const Event kept = events[first];  // each cycle of the permutation in turn
    std::uint32_t to = first;
    while (from[to] != first) {
      events[to] = events[from[to]];
      to = std::exchange(from[to], to);
    }
    events[to] = kept;
    from[to] = to;
  }
}

template <class Event>
void sort_by_start(std::vector<Event>& events) {
  const auto earlier = [](const Event& a, const Event& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  };
  if (!std::is_sorted(events.begin(), events.end(), earlier)) sort_in_place(events, earlier);
}

template <class Event>
void sort_by_time(std::vector<Event>& events) {
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.at_ns < b.at_ns; });
}

}  // namespace

void add_op(Trace& trace, const GpuOp& op) {
  if (op.has_time()) {
    trace.ops.push_back(op);
  } else {
    ++trace.source.untimed_ops;
  }
}

bool is_sound(const PythonSample& s) {
  std::int64_t length = 0;
  return s.count > 0 && s.period_ns > 0 && s.at_ns <= kMaxTimeNs && s.at_ns >= -kMaxTimeNs &&
         !__builtin_mul_overflow(s.period_ns, std::int64_t{s.count} - 1, &length) &&
         length <= kMaxDurationNs;
}

void finish(Trace& trace) {
  recognise_operators(trace);
  sort_by_start(trace.ops);
  sort_by_start(trace.calls);
  sort_by_start(trace.ranges);
  sort_by_start(trace.python);
  sort_by_start(trace.async_ranges);
  sort_by_start(trace.gpu_ranges);
  sort_by_start(trace.flows);
  sort_by_start(trace.overheads);
  sort_by_start(trace.syncs);
  sort_by_time(trace.instants);
  sort_by_time(trace.counters);
  sort_by_time(trace.memory);
  sort_by_time(trace.python_samples);
}

void shift_times(Trace& trace, std::int64_t by_ns, const std::string& where) {
  if (by_ns == 0) return;
  const auto shift = [&](std::int64_t& ns) {
    if (__builtin_add_overflow(ns, by_ns, &ns) || ns > kMaxTimeNs || ns < -kMaxTimeNs)
      throw InputError(where + ": times that are out of range once its origin is added");
  };
  for_each_event(trace, [&](auto& event) {
    if constexpr (requires { event.at_ns; }) {
      shift(event.at_ns);
    } else {
      shift(event.start_ns);
      shift(event.end_ns);
    }
  });
  if (trace.steps)
    for (StepRange& step : *trace.steps) {
      shift(step.start_ns);
      shift(step.end_ns);
      if (step.next_op_ns) shift(*step.next_op_ns);
    }
  if (trace.source.base_time_ns)
    if (__builtin_sub_overflow(*trace.source.base_time_ns, by_ns, &*trace.source.base_time_ns))
      trace.source.base_time_ns.reset();
}

}  // namespace nsa::trace
