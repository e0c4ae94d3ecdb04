#include "around.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace nsa::doctor {
namespace {

using trace::HostRange;
using Indices = std::vector<std::uint32_t>;

/// Indices of what has a thread and a start, by thread, then by start; the longer range first.
template <class Event>
Indices by_thread(const std::vector<Event>& events) {
  Indices order(events.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Event &x = events[a], &y = events[b];
    return std::tuple(x.process, x.thread, x.start_ns, -x.end_ns) <
           std::tuple(y.process, y.thread, y.start_ns, -y.end_ns);
  });
  return order;
}

template <class A, class B>
bool same_thread(const A& a, const B& b) {
  return a.process == b.process && a.thread == b.thread;
}
/// `range` begins before `call` does, in the order of by_thread.
bool before(const HostRange& range, const trace::ApiCall& call) {
  return std::tuple(range.process, range.thread, range.start_ns) <=
         std::tuple(call.process, call.thread, call.start_ns);
}

}  // namespace

std::vector<trace::NameId> ranges_around(const trace::Trace& trace) {
  std::vector<trace::NameId> names(trace.calls.size(), trace::kNoName);
  const Indices ranges = by_thread(trace.ranges);
  std::vector<const HostRange*> open;
  std::size_t next = 0;
  for (const std::uint32_t index : by_thread(trace.calls)) {
    const trace::ApiCall& call = trace.calls[index];
    for (; next < ranges.size() && before(trace.ranges[ranges[next]], call); ++next) {
      const HostRange& range = trace.ranges[ranges[next]];
      while (!open.empty() &&
             (!same_thread(*open.back(), range) || open.back()->end_ns <= range.start_ns))
        open.pop_back();
      if (!range.open) open.push_back(&range);
    }
    while (!open.empty() &&
           (!same_thread(*open.back(), call) || open.back()->end_ns <= call.start_ns))
      open.pop_back();
    if (!open.empty()) names[index] = open.back()->name;
  }
  return names;
}

}  // namespace nsa::doctor
