#include "markers.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>

namespace nsa::trace {

void SpoolMarkers::end(const Open& open, std::int64_t end_ns, std::uint32_t thread) {
  // Nobody's program runs for 104 days; only times that are nonsense get that far.
  end_ns = std::clamp(end_ns, open.start_ns, open.start_ns + kMaxDurationNs);
  if (open.thread == thread) {
    trace_.ranges.push_back({open.start_ns, end_ns, open.name, thread, 0, RangeKind::nvtx, false});
  } else {
    trace_.async_ranges.push_back({open.start_ns, end_ns, open.name, 0});
  }
}

void SpoolMarkers::pair(const Mark& mark) {
  const auto& [marker, name, thread] = mark;
  if (marker.what == spool::MarkerWhat::instant) {
    trace_.instants.push_back({marker.at_ns, name, thread, 0});
  } else if (marker.what == spool::MarkerWhat::begin) {
    const Open open{marker.at_ns, name, thread};
    if (marker.id != 0) {
      by_id_.insert_or_assign(marker.id, open);
    } else {
      by_thread_[thread].push_back(open);
    }
  } else if (marker.id != 0) {
    const auto at = by_id_.find(marker.id);
    if (at == by_id_.end()) return;  // begun before the recording
    end(at->second, marker.at_ns, thread);
    by_id_.erase(at);
  } else if (auto& stack = by_thread_[thread]; !stack.empty()) {
    end(stack.back(), marker.at_ns, thread);
    stack.pop_back();
  }
}

namespace {

/// As members of a JSON object, with the names that NCCL and PyTorch give them.
std::string arguments_of(const spool::SpoolMessage& m) {
  std::string out = "\"Message size [bytes]\":" + std::to_string(m.bytes);
  if (m.communicator != 0) {
    std::array<char, 17> number{};
    std::snprintf(number.data(), number.size(), "%016" PRIx64, m.communicator);
    out.append(",\"NCCL communicator ID\":\"").append(number.data()).append(1, '"');
  }
  if (m.ranks != 0) out += ",\"Group size\":" + std::to_string(m.ranks);
  return out;
}

}  // namespace

/// To the range that holds the moment; of several within each other the innermost.
void SpoolMarkers::attach_messages() {
  if (messages_.empty()) return;
  std::map<std::pair<std::uint32_t, NameId>, std::map<std::int64_t, HostRange*>> ranges;
  for (const Message& m : messages_) ranges[{m.thread, m.name}];
  for (HostRange& range : trace_.ranges)
    if (const auto at = ranges.find({range.thread, range.name}); at != ranges.end())
      at->second[range.start_ns] = &range;
  for (const auto& [message, name, thread] : messages_) {
    const auto& starts = ranges.at({thread, name});
    const auto after = starts.upper_bound(message.at_ns);
    if (after == starts.begin()) continue;
    HostRange& range = *std::prev(after)->second;
    if (message.at_ns <= range.end_ns) range.arguments = trace_.names.intern(arguments_of(message));
  }
}

void SpoolMarkers::finish(std::int64_t last_ns) {
  // Of a range of no length the begin comes first; those without an id stay in the file's order.
  const auto rank = [](const spool::SpoolMarker& m) {
    return m.id != 0 && m.what == spool::MarkerWhat::end;
  };
  std::stable_sort(marks_.begin(), marks_.end(), [&](const Mark& a, const Mark& b) {
    return a.marker.at_ns != b.marker.at_ns ? a.marker.at_ns < b.marker.at_ns
                                            : rank(a.marker) < rank(b.marker);
  });
  for (const Mark& mark : marks_) pair(mark);
  const auto leave_open = [&](const Open& open) {
    const std::int64_t end_ns = std::clamp(last_ns, open.start_ns, open.start_ns + kMaxDurationNs);
    trace_.ranges.push_back(
        {open.start_ns, end_ns, open.name, open.thread, 0, RangeKind::nvtx, true});
  };
  for (const auto& [id, open] : std::map(by_id_.begin(), by_id_.end())) leave_open(open);
  for (const auto& [thread, stack] : std::map(by_thread_.begin(), by_thread_.end()))
    std::for_each(stack.begin(), stack.end(), leave_open);
  attach_messages();
}

}  // namespace nsa::trace
