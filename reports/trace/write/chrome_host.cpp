#include <algorithm>
#include <map>

#include "analyse/launches.hpp"
#include "analyse/owners/autograd.hpp"
#include "chrome_parts.hpp"
#include "lanes.hpp"

namespace nsa::trace {
namespace {

/// In the order in which events of the same time are written.
enum class ItemKind : std::uint8_t { python, range, call };

/// An event on its way into the order of its thread.
struct Item {
  std::int64_t start_ns, end_ns;
  std::uint32_t thread, index;
  ItemKind kind;
};

std::vector<Item> items_of(const Trace& trace) {
  std::vector<Item> items;
  items.reserve(trace.calls.size() + trace.ranges.size() + trace.python.size());
  const auto add = [&](const auto& events, ItemKind kind) {
    for (std::uint32_t i = 0; i < events.size(); ++i)
      items.push_back({events[i].start_ns, events[i].end_ns, events[i].thread, i, kind});
  };
  add(trace.ranges, ItemKind::range);
  std::erase_if(items, [&](const Item& item) { return trace.ranges[item.index].open; });
  add(trace.calls, ItemKind::call);
  add(trace.python, ItemKind::python);
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
    return a.kind != b.kind ? a.kind < b.kind : a.index < b.index;
  });
  return items;
}

class HostWriter {
 public:
  explicit HostWriter(const ChromeParts& parts) : parts_(parts) {
    for (std::uint32_t i = 0; i < parts.trace.threads.size(); ++i)
      own_.push_back("\"own_tid\":" + std::to_string(parts.rows.thread(i).tid));
    const std::vector<AutogradLink> links = autograd_links(parts.trace);
    for (std::uint32_t i = 0; i < links.size(); ++i) {
      if (links[i].forward == kNone || links[i].backward == kNone) continue;
      arrows_.emplace(links[i].forward, Arrow{i, 's'});
      arrows_.emplace(links[i].backward, Arrow{i, 'f'});
    }
  }

  void write() {
    for (const Item& item : items_of(parts_.trace)) write_item(item);
    for (const HostRange& range : parts_.trace.ranges)
      if (range.open) write_open(range);
  }

 private:
  /// An end of a forward-backward arrow.
  struct Arrow {
    std::uint32_t flow;
    char end;  // 's' or 'f'
  };

  void write_item(const Item& item) {
    if (lane_rows_.empty() || item.thread != thread_) {
      thread_ = item.thread;
      lanes_ = {};
      lane_rows_ = {parts_.rows.thread(thread_)};
    }
    const std::uint32_t lane = lanes_.lane_of(item.start_ns, item.end_ns);
    while (lane_rows_.size() <= lane)
      lane_rows_.push_back(another(thread_, " (" + std::to_string(lane_rows_.size() + 1) + ")"));
    const Row row = lane_rows_[lane];
    switch (item.kind) {
      case ItemKind::call:
        return write_call(item.index, row, lane == 0);
      case ItemKind::range:
        return write_range(item.index, row, lane == 0);
      case ItemKind::python:
        return write_python(parts_.trace.python[item.index], row, lane == 0);
    }
  }

  Row another(std::uint32_t thread, const std::string& what) {
    return parts_.rows.another(parts_.rows.thread(thread).pid,
                               "thread " + parts_.trace.threads[thread].tid + what);
  }

  void write_call(std::uint32_t index, Row row, bool own) {
    const ApiCall& call = parts_.trace.calls[index];
    TextBuffer& out = parts_.events.next();
    out << (call.driver ? kDriver : kRuntime) << parts_.texts.names[call.name];
    put_row(out, row);
    parts_.times(call.start_ns, call.end_ns);
    out << ",\"args\":{\"correlation\":" << call.correlation;
    if (call.external != 0) out << ",\"External id\":" << std::uint32_t{call.external};
    if (!own) out << "," << own_[call.thread];
    out << "}}";
    const Arrows& arrows = parts_.arrows;
    for (std::uint32_t at = arrows.begin[index]; at < arrows.begin[index + 1]; ++at) {
      parts_.events.next() << R"({"ph":"s","cat":"ac2g","name":"ac2g","id":)" << arrows.ops[at] + 1;
      put_row(out, row);
      parts_.time(call.start_ns);
      out << "}";
    }
  }

  void write_range(std::uint32_t index, Row row, bool own) {
    const HostRange& range = parts_.trace.ranges[index];
    TextBuffer& out = parts_.events.next();
    out << kRanges[static_cast<std::size_t>(range.kind)] << parts_.texts.names[range.name];
    put_row(out, row);
    parts_.times(range.start_ns, range.end_ns);
    arguments_.clear();
    const auto put = [&](std::string_view key, std::string_view value) {
      arguments_.append(arguments_.empty() ? "" : ",").append(key).append(value);
    };
    if (!own) put("", own_[range.thread]);
    if (range.stack != kNoName) put("\"Call stack\":", parts_.texts.names[range.stack]);
    if (range.external != 0) put("\"External id\":", std::to_string(range.external));
    if (range.sequence >= 0) {
      put("\"Sequence number\":", std::to_string(range.sequence));
      put("\"Fwd thread id\":", std::to_string(range.forward_thread));
    }
    if (range.arguments != kNoName) put("", parts_.trace.names.text(range.arguments));
    if (arguments_.empty()) {
      out << "}";
    } else {
      out << ",\"args\":{" << arguments_ << "}}";
    }
    const auto [first, end] = arrows_.equal_range(index);
    for (auto at = first; at != end; ++at) write_arrow(at->second, range, row, own);
  }

  /// Behind those of launches, whose ids are the numbers of operations.
  void write_arrow(const Arrow& arrow, const HostRange& range, Row row, bool own) {
    TextBuffer& out = parts_.events.next();
    out << (arrow.end == 's' ? R"({"ph":"s",)" : R"({"ph":"f","bp":"e",)")
        << R"("cat":"fwdbwd","name":"fwdbwd","id":)" << parts_.trace.ops.size() + 1 + arrow.flow;
    put_row(out, row);
    parts_.time(range.start_ns);
    if (!own) out << ",\"args\":{" << own_[range.thread] << "}";
    out << "}";
  }

  void put_id(const char* key, std::int64_t id) {
    parts_.out << key;
    if (id < 0) {
      parts_.out << "null";
    } else {
      parts_.out << id;
    }
  }

  void write_python(const PythonCall& call, Row row, bool own) {
    TextBuffer& out = parts_.events.next();
    out << kPython << parts_.texts.names[call.name];
    put_row(out, row);
    parts_.times(call.start_ns, call.end_ns);
    put_id(",\"args\":{\"Python id\":", call.id);
    put_id(",\"Python parent id\":", call.parent);
    if (call.module >= 0) put_id(",\"Python module id\":", call.module);
    if (!own) out << "," << own_[call.thread];
    out << "}}";
  }

  /// What was never closed gets a begin without an end, in a row where nothing stands after it.
  void write_open(const HostRange& range) {
    auto at = open_rows_.find(range.thread);
    if (at == open_rows_.end())
      at = open_rows_.emplace(range.thread, another(range.thread, " (never closed)")).first;
    TextBuffer& out = parts_.events.next();
    out << R"({"ph":"B","cat":"nvtx","name":)" << parts_.texts.names[range.name];
    put_row(out, at->second);
    parts_.time(range.start_ns);
    out << ",\"args\":{" << own_[range.thread] << "}}";
  }

  const ChromeParts& parts_;
  const std::string kRuntime = begin_of('X', "cuda_runtime"),
                    kDriver = begin_of('X', "cuda_driver"),
                    kPython = begin_of('X', "python_function");
  const std::array<std::string, 3> kRanges{begin_of('X', "user_annotation"), begin_of('X', "nvtx"),
                                           begin_of('X', "cpu_op")};  // by RangeKind
  std::vector<std::string> own_;                                      // [threads]
  std::string arguments_;                                             // of the range in hand
  std::uint32_t thread_ = 0;
  Lanes lanes_;
  std::vector<Row> lane_rows_;
  std::map<std::uint32_t, Row> open_rows_;
  std::multimap<std::uint32_t, Arrow> arrows_;  // by range
};

}  // namespace

void write_host(const ChromeParts& parts) { HostWriter(parts).write(); }

}  // namespace nsa::trace
