#include <algorithm>
#include <map>

#include "analyse/parts.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::trace {
namespace {

constexpr std::size_t kTopAllocations = 10;

/// What the allocators of all processes and GPUs hold together, and the most that it was.
class Total {
 public:
  void state(const MemoryEvent& event, std::int64_t bytes) {
    if (bytes == kNotStated) return;
    std::int64_t& held = of_allocator_[{event.process, event.device}];
    if (__builtin_sub_overflow(now_, held, &now_) || __builtin_add_overflow(now_, bytes, &now_))
      throw InputError("the allocators of the trace hold more bytes together than 63 bits count");
    held = bytes;
    peak_ = std::max(peak_, now_);
  }
  std::optional<std::int64_t> peak() const {
    return stated() ? std::optional(peak_) : std::nullopt;
  }
  std::optional<std::int64_t> last() const { return stated() ? std::optional(now_) : std::nullopt; }

 private:
  bool stated() const { return !of_allocator_.empty(); }
  std::map<std::pair<std::uint32_t, std::int32_t>, std::int64_t> of_allocator_;
  std::int64_t now_ = 0, peak_ = 0;
};

}  // namespace

void add_memory(const TraceContext& context, Summary& out) {
  const std::vector<MemoryEvent>& events = context.trace.memory;
  if (events.empty()) {
    out.null_reasons["memory"] = "no memory events of a GPU were recorded (profile_memory)";
    return;
  }
  MemorySummary sum;
  Total allocated, reserved;
  for (const MemoryEvent& event : events) {
    allocated.state(event, event.allocated_bytes);
    reserved.state(event, event.reserved_bytes);
    if (event.bytes > 0) sum.top_allocations.push_back({event.bytes, event.at_ns, event.device});
  }
  sum.peak_allocated_bytes = allocated.peak();
  sum.last_allocated_bytes = allocated.last();
  sum.peak_reserved_bytes = reserved.peak();
  sum.last_reserved_bytes = reserved.last();
  for (const auto& [key, value] : {std::pair{"memory.*_allocated_bytes", sum.peak_allocated_bytes},
                                   std::pair{"memory.*_reserved_bytes", sum.peak_reserved_bytes}})
    if (!value) out.null_reasons[key] = "the events do not state the allocator's totals";
  std::stable_sort(sum.top_allocations.begin(), sum.top_allocations.end(),
                   [](const Allocation& a, const Allocation& b) { return a.bytes > b.bytes; });
  if (sum.top_allocations.size() > kTopAllocations) sum.top_allocations.resize(kTopAllocations);
  out.memory = std::move(sum);
}

}  // namespace nsa::trace
