// Events that are neither operations of the GPU nor of the host: waits, ranges, counters, marks,
// rows' names.
#include <charconv>

#include "read/finish.hpp"
#include "sink.hpp"

namespace nsa::trace {
namespace {

/// Which async begin belongs to which end.
std::string async_key(const JsonEvent& event) {
  return std::string(event.process) + ' ' + std::string(without_quotes(event.id)) + ' ' +
         std::string(event.name);
}

}  // namespace

/// PyTorch draws it in the row of its stream, and has neither device nor stream in its args.
void JsonSink::add_gpu_range(const JsonEvent& event) {
  const Times t = times_of(event);
  GpuRange range{.start_ns = t.start, .end_ns = t.end, .stream = stream_of(event)};
  range.name = trace_.names.intern(event.name);
  range.device = device_of(event);
  range.process = pid_of(event);
  trace_.gpu_ranges.push_back(range);
}

void JsonSink::add_sync(const JsonEvent& event) {
  const Times t = times_of(event);
  Sync sync{.start_ns = t.start, .end_ns = t.end, .name = trace_.names.intern(event.name)};
  sync.correlation = identity(event.correlation, "correlation", event);
  if (!event.stream.empty()) sync.stream = number(event.stream, "stream", event);
  if (!event.wait_on_stream.empty()) sync.wait_on_stream = number_or_none(event.wait_on_stream);
  if (const std::int64_t id = number_or_none(event.event_record); id > 0)
    sync.event_record = static_cast<std::uint64_t>(id);
  sync.device = device_of(event);
  sync.process = pid_of(event);
  trace_.syncs.push_back(sync);
}

/// Of a foreign counter with several values the first counts. What our writer derived from other
/// events is no reading.
void JsonSink::add_counter(const JsonEvent& event) {
  if (event.category == "derived") return;
  Counter counter;
  const char* const end = event.first_value.data() + event.first_value.size();
  const auto [rest, error] = std::from_chars(event.first_value.data(), end, counter.value);
  if (error == std::errc::result_out_of_range) fail_(event.at, "a counter that no double holds");
  if (event.first_value.empty() || error != std::errc{} || rest != end) return;
  std::string name(event.name);
  if (event.first_key != "value") name.append(1, ' ').append(event.first_key);
  counter.at_ns = time_of(event);
  counter.name = trace_.names.intern(name);
  counter.process = pid_of(event);
  trace_.counters.push_back(counter);
}

void JsonSink::add_instant(const JsonEvent& event) {
  if (event.category == "python_sample") return add_sample(event);
  if (event.category != "nvtx") return;
  trace_.instants.push_back(
      {time_of(event), trace_.names.intern(event.name), thread_of(event), pid_of(event)});
}

/// As our writer has them; which frames there are may be said after the events.
void JsonSink::add_sample(const JsonEvent& event) {
  const auto small_number = [](std::string_view token) {
    const std::int64_t value = number_or_none(token);
    return value > 0 && value <= UINT32_MAX ? static_cast<std::uint32_t>(value) : 0;
  };
  PythonSample sample{.at_ns = time_of(event), .period_ns = number_or_none(event.period)};
  sample.count = small_number(event.samples);
  sample.frame = small_number(event.frame);
  sample.thread = thread_of(event);
  sample.process = pid_of(event);
  if (sample.frame != 0 && is_sound(sample)) trace_.python_samples.push_back(sample);
}

/// From forward to backward operators. Arrows from launches are drawn anew by whoever needs them.
void JsonSink::add_flow_end(const JsonEvent& event, bool start) {
  if (event.category != "fwdbwd" && event.category != "fwd_bwd") return;
  FlowEnds& ends = flows_[std::string(event.process) + ' ' + std::string(without_quotes(event.id))];
  (start ? ends.start : ends.end) = true;
  (start ? ends.flow.start_ns : ends.flow.end_ns) = time_of(event);
  (start ? ends.flow.thread : ends.flow.to_thread) = thread_of(event);
  ends.flow.process = pid_of(event);
}

void JsonSink::add_metadata(const JsonEvent& event) {
  if (event.name != "thread_name" || event.row_name.empty()) return;
  row_names_[std::string(event.process) + ' ' + std::string(event.thread)] = event.row_name;
}

void JsonSink::begin_async(const JsonEvent& event) {
  if (event.category != "nvtx") return;
  const std::int64_t start = time_of(event);
  begun_async_[async_key(event)].push_back(
      {start, start, trace_.names.intern(event.name), pid_of(event)});
}

void JsonSink::end_async(const JsonEvent& event) {
  const auto at = begun_async_.find(async_key(event));
  if (at == begun_async_.end()) return;  // begun before the recording, or of another category
  AsyncRange range = at->second.back();
  at->second.pop_back();
  if (at->second.empty()) begun_async_.erase(at);
  range.end_ns = time_of(event);
  check_end(range.start_ns, range.end_ns, event);
  trace_.async_ranges.push_back(range);
}

}  // namespace nsa::trace
