#include "chrome_texts.hpp"

#include <algorithm>

#include "text_buffer.hpp"

namespace nsa::trace {
namespace {

std::string list(const std::array<std::uint32_t, 3>& three) {
  return "[" + std::to_string(three[0]) + "," + std::to_string(three[1]) + "," +
         std::to_string(three[2]) + "]";
}

std::string shape_text(const LaunchShape& shape) {
  std::string text = ",\"registers per thread\":" + std::to_string(shape.registers) +
                     ",\"shared memory\":" + std::to_string(shape.shared_bytes) +
                     ",\"grid\":" + list(shape.grid) + ",\"block\":" + list(shape.block);
  if (shape.cluster != std::array<std::uint32_t, 3>{})
    text += ",\"cluster\":" + list(shape.cluster);
  return text;
}

std::int64_t first_time(const Trace& trace) {
  std::int64_t first = kMaxTimeNs;
  const auto spans = [&](const auto& events) {
    if (!events.empty()) first = std::min(first, events.front().start_ns);
  };
  const auto moments = [&](const auto& events) {
    if (!events.empty()) first = std::min(first, events.front().at_ns);
  };
  spans(trace.ops), spans(trace.calls), spans(trace.ranges), spans(trace.python);
  spans(trace.async_ranges), spans(trace.gpu_ranges);
  spans(trace.overheads), spans(trace.syncs);
  moments(trace.instants), moments(trace.counters), moments(trace.memory);
  moments(trace.python_samples);
  return first == kMaxTimeNs ? 0 : first;
}

/// An operation of no length at 0 would read as one without a time stamp, so such a trace begins a
/// microsecond later.
std::int64_t origin_of(const Trace& trace) {
  const std::int64_t first = first_time(trace);
  for (const GpuOp& op : trace.ops) {
    if (op.start_ns != first) break;  // they are in the order of their starts
    if (op.end_ns == first) return std::max(first - 1000, -kMaxTimeNs);
  }
  return first;
}

}  // namespace

ChromeTexts::ChromeTexts(const Trace& trace) : origin_ns(origin_of(trace)) {
  for (NameId i = 0; i < trace.names.size(); ++i) names.push_back(json_quoted(trace.names.text(i)));
  shapes.emplace_back();  // not recorded
  for (std::size_t i = 1; i < trace.shapes.size(); ++i)
    shapes.push_back(shape_text(trace.shapes[i]));
}

}  // namespace nsa::trace
