#include "finish.hpp"

#include <algorithm>

namespace nsa::trace {
namespace {

template <class Event>
void sort_by_start(std::vector<Event>& events) {
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  events.shrink_to_fit();
}

}  // namespace

void add_op(Trace& trace, const GpuOp& op) {
  if (op.has_time()) {
    trace.ops.push_back(op);
  } else {
    ++trace.source.untimed_ops;
  }
}

void finish(Trace& trace) {
  sort_by_start(trace.ops);
  sort_by_start(trace.calls);
  sort_by_start(trace.ranges);
  sort_by_start(trace.overheads);
  std::stable_sort(trace.memory.begin(), trace.memory.end(),
                   [](const MemoryEvent& a, const MemoryEvent& b) { return a.at_ns < b.at_ns; });
}

}  // namespace nsa::trace
