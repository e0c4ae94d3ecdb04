#include <algorithm>

#include "parts.hpp"

namespace nsa::trace {
namespace {
constexpr std::size_t kTopAllocations = 10;
}

void add_memory(const Context& context, Summary& out) {
  const std::vector<MemoryEvent>& events = context.trace.memory;
  if (events.empty()) {
    out.null_reasons["memory"] = "no memory events were recorded (profile_memory)";
    return;
  }
  MemorySummary sum;
  for (const MemoryEvent& event : events) {
    sum.peak_allocated_bytes = std::max(sum.peak_allocated_bytes, event.allocated_bytes);
    sum.peak_reserved_bytes = std::max(sum.peak_reserved_bytes, event.reserved_bytes);
    if (event.bytes > 0) sum.top_allocations.push_back({event.bytes, event.at_ns, event.device});
  }
  sum.last_allocated_bytes = events.back().allocated_bytes;
  sum.last_reserved_bytes = events.back().reserved_bytes;
  std::stable_sort(sum.top_allocations.begin(), sum.top_allocations.end(),
                   [](const Allocation& a, const Allocation& b) { return a.bytes > b.bytes; });
  if (sum.top_allocations.size() > kTopAllocations) sum.top_allocations.resize(kTopAllocations);
  out.memory = std::move(sum);
}

}  // namespace nsa::trace
