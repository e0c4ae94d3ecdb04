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
      start_stream(parts_.rows.device(process, device), stream, "");
      for (const std::uint32_t i : of_stream) write_op(i);
    }
    write_syncs();
  }

 private:
  void start_stream(std::uint32_t pid, std::int64_t stream, const char* what) {
    lanes_ = {};
    name_ = "stream " + std::to_string(stream) + what;
    lane_rows_ = {*what == '\0' ? parts_.rows.stream(pid, stream)
                                : parts_.rows.another(pid, name_)};
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
    if (op.kind != OpKind::kernel) out << ",\"bytes\":" << op.bytes;
    out << parts_.texts.shapes[op.shape];
    if (op.graph_node != 0)
      out << ",\"graph id\":" << op.graph << ",\"graph node id\":" << op.graph_node;
    if (op.stage != kNoName) out << ",\"stage\":" << parts_.texts.names[op.stage];
    out << "}}";
    if (parts_.arrows.drawn[index] == 0) return;
    parts_.events.next() << R"({"ph":"f","bp":"e","cat":"ac2g","name":"ac2g","id":)" << index + 1;
    put_row(out, row);
    parts_.time(op.start_ns);
    out << "}";
  }

  void write_syncs() {
    std::map<StreamKey, std::vector<const Sync*>> streams;
    for (const Sync& sync : parts_.trace.syncs)
      streams[{sync.process, sync.device, sync.stream}].push_back(&sync);
    for (const auto& [key, of_stream] : streams) {
      const auto& [process, device, stream] = key;
      start_stream(parts_.rows.device(process, device), stream, " waits");
      for (const Sync* sync : of_stream) write_sync(*sync);
    }
  }

  void write_sync(const Sync& sync) {
    const Row row = row_for(sync.start_ns, sync.end_ns);
    TextBuffer& out = parts_.events.next();
    out << R"({"ph":"X","cat":"cuda_sync","name":)" << parts_.texts.names[sync.name];
    put_row(out, row);
    parts_.times(sync.start_ns, sync.end_ns);
    out << ",\"args\":{\"device\":" << sync.device << ",\"stream\":" << sync.stream
        << ",\"correlation\":" << sync.correlation << "}}";
  }

  const ChromeParts& parts_;
  const std::array<std::string, 3> kBegins{begin_of('X', "kernel"), begin_of('X', "gpu_memcpy"),
                                           begin_of('X', "gpu_memset")};
  Lanes lanes_;
  std::vector<Row> lane_rows_;
  std::string name_;
};

}  // namespace

void write_gpu(const ChromeParts& parts) { GpuWriter(parts).write(); }

}  // namespace nsa::trace
