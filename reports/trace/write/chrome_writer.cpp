#include "analyse/launches.hpp"
#include "chrome_parts.hpp"
#include "nsa/trace/write.hpp"
#include "read/json/recording.hpp"
#include "text_buffer.hpp"

namespace nsa::trace {
namespace {

OurMetadata our_metadata(const Trace& trace, const ChromeTexts& texts, const Rows& rows) {
  OurMetadata ours;
  ours.origin_ns = texts.origin_ns;
  ours.pids.resize(trace.processes.size());
  for (std::size_t i = 0; i < ours.pids.size(); ++i)
    ours.pids[i].push_back(std::to_string(rows.process(static_cast<std::uint32_t>(i))));
  for (const auto& named : rows.process_names()) {
    if (named.process >= ours.pids.size()) continue;
    const std::string pid = std::to_string(named.pid);
    if (pid != ours.pids[named.process].front()) ours.pids[named.process].push_back(pid);
  }
  for (const auto& [key, pid] : rows.devices())
    ours.device_pids.push_back({std::to_string(pid), key.second});
  return ours;
}

/// Where the source itself said nothing in its own words.
void write_known(const Trace& trace, TextBuffer& out) {
  const auto says = [&](std::string_view key) {
    for (const auto& [name, value] : trace.other_metadata)
      if (name == key) return true;
    return false;
  };
  if (!says("deviceProperties")) {
    out << "\"deviceProperties\":[";
    const char* comma = "";
    for (const DeviceInfo& device : trace.devices) {
      out << comma << "{\"id\":" << device.id << ",\"name\":" << json_quoted(device.name);
      if (device.part != 0) out << ",\"part\":" << device.part;
      out << "}";
      comma = ",";
    }
    out << "],\n";
  }
  const auto &rank = trace.source.rank, &world_size = trace.source.world_size;
  if (says("distributedInfo") || (!rank && !world_size)) return;
  out << "\"distributedInfo\":{";
  if (rank) out << "\"rank\":" << *rank;
  if (world_size) out << (rank ? "," : "") << "\"world_size\":" << *world_size;
  out << "},\n";
}

void mark_drawn(const Trace& trace, const std::vector<std::uint32_t>& launch,
                std::vector<char>& drawn) {
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    if (launch[i] == kNone) continue;
    const GpuOp& op = trace.ops[i];
    const ApiCall& call = trace.calls[launch[i]];
    drawn[i] =
        call.start_ns <= op.start_ns && call.start_ns < call.end_ns && op.start_ns < op.end_ns;
  }
}

}  // namespace

Arrows::Arrows(const Trace& trace) : begin(trace.calls.size() + 1, 0), drawn(trace.ops.size(), 0) {
  const std::vector<std::uint32_t> launch = launches_of(trace);
  mark_drawn(trace, launch, drawn);
  for (std::size_t i = 0; i < launch.size(); ++i)
    if (drawn[i] != 0) ++begin[launch[i] + 1];
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  ops.resize(begin.back());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::uint32_t i = 0; i < launch.size(); ++i)
    if (drawn[i] != 0) ops[next[launch[i]]++] = i;
}

void write_head(const Trace& trace, const ChromeTexts& texts, const Rows& rows, TextBuffer& out) {
  out << "{\"schemaVersion\":1,\n";
  for (const auto& [key, value] : trace.other_metadata)
    out << "\"" << key << "\":" << value << ",\n";
  write_known(trace, out);
  std::int64_t base = 0;
  if (trace.source.base_time_ns &&
      !__builtin_add_overflow(*trace.source.base_time_ns, texts.origin_ns, &base))
    out << "\"baseTimeNanoseconds\":" << base << ",\n";
  const Json recording = recording_json(trace, our_metadata(trace, texts, rows));
  out << "\"" << kRecordingKey
      << "\":" << recording.dump(-1, ' ', true, Json::error_handler_t::replace) << ",\n"
      << "\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[\n";
}

void write_chrome_trace(const Trace& trace, const std::string& path) {
  OutputFile file(path, path.ends_with(".gz"));
  TextBuffer out(file);
  const ChromeTexts texts(trace);
  const Arrows arrows(trace);
  Rows rows(trace);
  EventList events(out);
  write_head(trace, texts, rows, out);
  const ChromeParts parts{trace, texts, arrows, rows, out, events};
  write_gpu(parts);
  write_host(parts);
  write_others(parts);
  write_names(parts);
  out << "\n]}\n";
  out.flush();
  file.finish();
}

}  // namespace nsa::trace
