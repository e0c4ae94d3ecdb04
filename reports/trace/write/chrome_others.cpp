#include <cmath>
#include <map>

#include "chrome_parts.hpp"
#include "lanes.hpp"
#include "nsa/trace/python_lines.hpp"
#include "text_buffer.hpp"

namespace nsa::trace {
namespace {

void write_async(const ChromeParts& parts) {
  std::uint64_t id = 0;
  for (const AsyncRange& range : parts.trace.async_ranges) {
    ++id;
    const std::uint32_t pid = parts.rows.process(range.process);
    for (const auto& [begin, at_ns] :
         {std::pair(R"({"ph":"b","cat":"nvtx","id":)", range.start_ns),
          std::pair(R"({"ph":"e","cat":"nvtx","id":)", range.end_ns)}) {
      parts.events.next() << begin << id << ",\"name\":" << parts.texts.names[range.name];
      put_row(parts.out, {pid, pid});
      parts.time(at_ns);
      parts.out << "}";
    }
  }
}

void write_instants(const ChromeParts& parts) {
  for (const Instant& instant : parts.trace.instants) {
    parts.events.next() << R"({"ph":"i","s":"t","cat":"nvtx","name":)"
                        << parts.texts.names[instant.name];
    put_row(parts.out, parts.rows.thread(instant.thread));
    parts.time(instant.at_ns);
    parts.out << "}";
  }
}

void write_samples(const ChromeParts& parts) {
  const Trace& trace = parts.trace;
  std::vector<std::string> names(trace.python_frames.size());  // of frames, as they are needed
  for (const PythonSample& sample : trace.python_samples) {
    std::string& name = names[sample.frame];
    if (name.empty()) name = json_quoted(frame_text(trace, sample.frame));
    parts.events.next() << R"({"ph":"i","s":"t","cat":"python_sample","name":)" << name;
    put_row(parts.out, parts.rows.thread(sample.thread));
    parts.time(sample.at_ns);
    parts.out << ",\"args\":{\"frame\":" << sample.frame << ",\"samples\":" << sample.count
              << ",\"period_ns\":" << sample.period_ns << "}}";
  }
}

void write_counters(const ChromeParts& parts) {
  for (const Counter& counter : parts.trace.counters) {
    if (!std::isfinite(counter.value)) continue;
    const std::uint32_t pid = counter.device >= 0
                                  ? parts.rows.device(counter.process, counter.device)
                                  : parts.rows.process(counter.process);
    parts.events.next() << R"({"ph":"C","cat":"counter","name":)"
                        << parts.texts.names[counter.name];
    put_row(parts.out, {pid, 0});
    parts.time(counter.at_ns);
    parts.out << ",\"args\":{\"value\":";
    parts.out.number(counter.value) << "}}";
  }
}

/// As Kineto writes it, and the totals as a counter that viewers draw.
void write_memory(const ChromeParts& parts) {
  for (const MemoryEvent& m : parts.trace.memory) {
    const std::uint32_t pid = parts.rows.process(m.process);
    parts.events.next() << R"({"ph":"i","s":"p","cat":"cpu_instant_event","name":"[memory]")";
    put_row(parts.out, {pid, pid});
    parts.time(m.at_ns);
    parts.out << ",\"args\":{";
    if (m.reserved_bytes != kNotStated)
      parts.out << "\"Total Reserved\":" << m.reserved_bytes << ",";
    if (m.allocated_bytes != kNotStated)
      parts.out << "\"Total Allocated\":" << m.allocated_bytes << ",";
    parts.out << "\"Bytes\":" << m.bytes << ",\"Addr\":" << m.address
              << ",\"Device Id\":" << m.device << ",\"Device Type\":1}}";
    if (m.reserved_bytes == kNotStated || m.allocated_bytes == kNotStated) continue;
    parts.events.next() << R"({"ph":"C","cat":"derived","name":"GPU )" << m.device
                        << " memory, bytes\"";
    put_row(parts.out, {pid, 0});
    parts.time(m.at_ns);
    parts.out << ",\"args\":{\"allocated\":" << m.allocated_bytes
              << ",\"reserved\":" << m.reserved_bytes << "}}";
  }
}

void write_overheads(const ChromeParts& parts) {
  struct OfProcess {
    Lanes lanes;
    std::vector<Row> rows;
  };
  std::map<std::uint32_t, OfProcess> processes;
  for (const Overhead& o : parts.trace.overheads) {
    OfProcess& of = processes[o.process];
    const std::uint32_t lane = of.lanes.lane_of(o.start_ns, o.end_ns);
    while (of.rows.size() <= lane)
      of.rows.push_back(parts.rows.another(parts.rows.process(o.process), "overhead"));
    parts.events.next() << R"({"ph":"X","cat":"overhead","name":)" << parts.texts.names[o.name];
    put_row(parts.out, of.rows[lane]);
    parts.times(o.start_ns, o.end_ns);
    parts.out << "}";
  }
}

void write_metadata(const ChromeParts& parts, const char* what, Row row, const char* key,
                    const std::string& value) {
  parts.events.next() << R"({"ph":"M","name":")" << what << "\"";
  put_row(parts.out, row);
  parts.out << ",\"ts\":0,\"args\":{\"" << key << "\":" << value << "}}";
}

}  // namespace

void write_others(const ChromeParts& parts) {
  write_async(parts);
  write_instants(parts);
  write_samples(parts);
  write_memory(parts);
  write_counters(parts);
  write_overheads(parts);
}

void write_names(const ChromeParts& parts) {
  for (const auto& [pid, process, name, label, sort_index] : parts.rows.process_names()) {
    write_metadata(parts, "process_name", {pid, 0}, "name", json_quoted(name));
    if (!label.empty())
      write_metadata(parts, "process_labels", {pid, 0}, "labels", json_quoted(label));
    write_metadata(parts, "process_sort_index", {pid, 0}, "sort_index", std::to_string(sort_index));
  }
  std::int64_t order = 0;
  for (const auto& [row, name] : parts.rows.names()) {
    write_metadata(parts, "thread_name", row, "name", json_quoted(name));
    write_metadata(parts, "thread_sort_index", row, "sort_index", std::to_string(order++));
  }
}

}  // namespace nsa::trace
