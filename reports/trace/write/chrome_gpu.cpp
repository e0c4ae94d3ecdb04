#include <map>
#include <tuple>

#include "chrome_parts.hpp"
#include "lanes.hpp"

namespace nsa::trace {
namespace {

using StreamKey = std::tuple<std::uint32_t, std::int32_t, std::int64_t>;  // process, device, stream

class GpuWriter {
 public:
  explicit GpuWriter(const ChromeParts& parts) : parts_(parts) {}

  void write() {
    std::map<StreamKey, std::vector<std::uint32_t>> streams;
    const auto& ops = parts_.trace.ops;
    for (std::uint32_t i = 0; i < ops.size(); ++i)
      streams[{ops[i].process, ops[i].device, ops[i].stream}].push_back(i);
    for (const auto& [key, of_stream] : streams) {
      const auto& [process, device, stream] = key;
      start_rows(parts_.rows.stream(parts_.rows.device(process, device), stream),
                 "stream " + std::to_string(stream));
      for (const std::uint32_t i : of_stream) write_op(i);
    }
    write_spans(parts_.trace.syncs, " waits", [this](const Sync& sync) { write_sync(sync); });
    write_spans(parts_.trace.gpu_ranges, " ranges", [this](const GpuRange& r) { write_range(r); });
  }

 private:
  void start_rows(Row first, const std::string& name) {
    lanes_ = {};
    name_ = name;
    lane_rows_ = {first};
  }

  Row row_for(std::int64_t start_ns, std::int64_t end_ns) {
    const std::uint32_t lane = lanes_.lane_of(start_ns, end_ns);
    while (lane_rows_.size() <= lane)
      lane_rows_.push_back(parts_.rows.another(
          lane_rows_[0].pid, name_ + " (" + std::to_string(lane_rows_.size() + 1) + ")"));
    return lane_rows_[lane];
  }

  void write_op(std::uint32_t index) {
    const GpuOp& op = parts_.trace.ops[index];
    const Row row = row_for(op.start_ns, op.end_ns);
    TextBuffer& out = parts_.events.next();
    out << kBegins[static_cast<std::size_t>(op.kind)] << parts_.texts.names[op.name];
    put_row(out, row);
    parts_.times(op.start_ns, op.end_ns);
    out << ",\"args\":{\"device\":" << op.device << ",\"context\":" << op.context
        << ",\"stream\":" << op.stream << ",\"correlation\":" << op.correlation;
    if (op.kind == OpKind::copy || op.kind == OpKind::set) out << ",\"bytes\":" << op.bytes;
    out << parts_.texts.shapes[op.shape];
    if (op.kind == OpKind::graph) out << ",\"graph id\":" << op.graph;
    if (op.graph_node != 0)
      out << ",\"graph id\":" << op.graph << ",\"graph node id\":" << op.graph_node;
    if (op.external != 0) out << ",\"External id\":" << op.external;
    if (op.arguments != kNoName) out << "," << parts_.trace.names.text(op.arguments);
    if (op.stage != kNoName) out << ",\"stage\":" << parts_.texts.names[op.stage];
    out << "}}";
    if (parts_.arrows.drawn[index] == 0) return;
    parts_.events.next() << R"({"ph":"f","bp":"e","cat":"ac2g","name":"ac2g","id":)" << index + 1;
    put_row(out, row);
    parts_.time(op.start_ns);
    out << "}";
  }

  /// What is no operation: rows of its own for each stream.
  template <class Span, class Write>
  void write_spans(const std::vector<Span>& spans, const char* what, Write write) {
    std::map<StreamKey, std::vector<const Span*>> streams;
    for (const Span& span : spans)
      streams[{span.process, span.device, span.stream}].push_back(&span);
    for (const auto& [key, of_stream] : streams) {
      const auto& [process, device, stream] = key;
      const std::string name = (stream < 0 ? "device" : "stream " + std::to_string(stream)) + what;
      start_rows(parts_.rows.another(parts_.rows.device(process, device), name), name);
      for (const Span* span : of_stream) write(*span);
    }
  }

  void write_sync(const Sync& sync) {
    const Row row = row_for(sync.start_ns, sync.end_ns);
    TextBuffer& out = parts_.events.next();
    out << R"({"ph":"X","cat":"cuda_sync","name":)" << parts_.texts.names[sync.name];
    put_row(out, row);
    parts_.times(sync.start_ns, sync.end_ns);
    out << ",\"args\":{\"device\":" << sync.device << ",\"stream\":" << sync.stream
        << ",\"correlation\":" << sync.correlation;
    if (sync.wait_on_stream >= 0) out << ",\"wait_on_stream\":" << sync.wait_on_stream;
    if (sync.event_record != 0)
      out << ",\"wait_on_cuda_event_record_corr_id\":" << sync.event_record;
    out << "}}";
  }

  void write_range(const GpuRange& range) {
    const Row row = row_for(range.start_ns, range.end_ns);
    TextBuffer& out = parts_.events.next();
    out << R"({"ph":"X","cat":"gpu_user_annotation","name":)" << parts_.texts.names[range.name];
    put_row(out, row);
    parts_.times(range.start_ns, range.end_ns);
    out << ",\"args\":{\"device\":" << range.device << ",\"stream\":" << range.stream << "}}";
  }

  const ChromeParts& parts_;
  const std::array<std::string, 4> kBegins{begin_of('X', "kernel"), begin_of('X', "gpu_memcpy"),
                                           begin_of('X', "gpu_memset"), begin_of('X', "gpu_graph")};
  Lanes lanes_;
  std::vector<Row> lane_rows_;
  std::string name_;
};

}  // namespace

void write_gpu(const ChromeParts& parts) { GpuWriter(parts).write(); }

}  // namespace nsa::trace
