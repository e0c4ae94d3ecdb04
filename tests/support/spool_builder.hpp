// Spools made by hand, as a tracer would append them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "nsa/schemas/trace_spool.hpp"

namespace nsa::test {

class SpoolBuilder {
 public:
  explicit SpoolBuilder(spool::SpoolHeader header = {}) { append(header); }

  template <class Record>
  SpoolBuilder& append(const Record& record) {
    bytes_.append(reinterpret_cast<const char*>(&record), sizeof record);
    return *this;
  }
  /// The number of a text; its record is appended when it is new.
  std::uint32_t text(std::string_view text) {
    if (text.empty()) return 0;
    const auto [at, added] = texts_.try_emplace(std::string(text), next_);
    if (!added) return at->second;
    const std::size_t size = bytes_.size();
    bytes_.resize(size + spool::text_bytes(text.size()));
    spool::put_text(bytes_.data() + size, next_, text.data(),
                    static_cast<std::uint32_t>(text.size()));
    return next_++;
  }
  SpoolBuilder& metadata(std::string_view key, std::string_view value) {
    spool::SpoolMetadata m;
    m.key = text(key);
    m.value = text(value);
    return append(m);
  }
  /// A launch call of a thread and the kernel that it launches on stream 7 of device 0.
  SpoolBuilder& launched(std::string_view name, std::uint64_t correlation, std::int64_t call_ns,
                         std::int64_t start_ns, std::int64_t duration_ns, std::uint32_t thread = 11,
                         std::uint32_t stream = 7) {
    spool::SpoolApi api;
    api.start_ns = call_ns;
    api.end_ns = call_ns + 50;
    api.correlation = correlation;
    api.name = text("cudaLaunchKernel_v7000");
    api.thread = thread;
    spool::SpoolKernel k;
    k.start_ns = start_ns;
    k.end_ns = start_ns + duration_ns;
    k.correlation = correlation;
    k.name = text(name);
    k.stream = stream;
    k.grid[0] = 8, k.grid[1] = k.grid[2] = 1;
    k.block[0] = 128, k.block[1] = k.block[2] = 1;
    return append(api).append(k);
  }
  /// The recorder takes it for a step that begins.
  SpoolBuilder& step(std::string_view name, std::int64_t at_ns, std::int64_t index) {
    spool::SpoolMark mark;
    mark.at_ns = at_ns;
    mark.index = index;
    mark.name = text(name);
    return append(mark);
  }
  /// What a range took on device 0, by events.
  SpoolBuilder& gpu_range(std::string_view name, std::int64_t start_ns, std::int64_t end_ns) {
    spool::SpoolGpuRange range;
    range.start_ns = start_ns;
    range.end_ns = end_ns;
    range.name = text(name);
    return append(range);
  }
  /// What NCCL sends in a range of that name.
  SpoolBuilder& sent(std::string_view name, std::int64_t at_ns, std::uint64_t bytes,
                     std::uint64_t communicator, std::uint32_t ranks, std::uint32_t thread = 11) {
    spool::SpoolMessage message;
    message.at_ns = at_ns;
    message.bytes = bytes;
    message.communicator = communicator;
    message.ranks = ranks;
    message.name = text(name);
    message.thread = thread;
    return append(message);
  }
  /// An NVTX range by push and pop.
  SpoolBuilder& range(std::string_view name, std::int64_t start_ns, std::int64_t end_ns,
                      std::uint32_t thread = 11, std::string_view domain = {}) {
    spool::SpoolMarker m;
    m.at_ns = start_ns;
    m.what = spool::MarkerWhat::begin;
    m.id = ++last_marker_;
    m.name = text(name);
    m.domain = text(domain);
    m.thread = thread;
    append(m);
    m.at_ns = end_ns;
    m.what = spool::MarkerWhat::end;
    m.name = 0;
    return append(m);
  }
  /// A range of the hook in Python.
  SpoolBuilder& hooked(std::string_view name, std::int64_t start_ns, std::int64_t end_ns,
                       std::uint32_t thread = 11) {
    return range(name, start_ns, end_ns, thread, spool::kHookDomain);
  }
  /// A place in Python; its number. `caller`: that of another one, 0 = none.
  std::uint32_t python_frame(std::string_view file, std::uint32_t line, std::string_view function,
                             std::uint32_t caller = 0) {
    spool::SpoolPythonFrame frame;
    frame.file = text(file);
    frame.function = text(function);
    frame.line = line;
    frame.caller = caller;
    frame.id = ++last_frame_;
    append(frame);
    return frame.id;
  }
  /// The thread stood there at that moment, and at `count - 1` more.
  SpoolBuilder& python_sample(std::uint32_t frame, std::int64_t at_ns, std::uint32_t count = 1,
                              std::int64_t period_ns = 100, std::uint32_t thread = 11) {
    spool::SpoolPythonSample sample;
    sample.at_ns = at_ns;
    sample.period_ns = period_ns;
    sample.frame = frame;
    sample.thread = thread;
    sample.count = count;
    return append(sample);
  }
  /// What the exit handler appends.
  SpoolBuilder& totals(std::uint64_t launches, std::uint64_t kernels, std::uint64_t dropped = 0,
                       std::uint16_t flags = spool::kSpoolFinal) {
    spool::SpoolTotals t;
    t.record.flags = flags;
    t.launches = launches;
    t.kernels = kernels;
    t.dropped = dropped;
    return append(t);
  }
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
  std::map<std::string, std::uint32_t, std::less<>> texts_;
  std::uint32_t next_ = 1;
  std::uint64_t last_marker_ = 0;
  std::uint32_t last_frame_ = 0;
};

}  // namespace nsa::test
