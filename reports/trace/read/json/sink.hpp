// Turns events of a Chrome trace into the model: which category is what, and how its fields are
// written.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "event.hpp"
#include "metadata.hpp"
#include "nsa/trace/model.hpp"
#include "read/launch_shapes.hpp"

namespace nsa::trace {

class JsonSink {
 public:
  using Fail = JsonEventParser::Fail;
  JsonSink(Trace& trace, Fail fail);
  void add(const JsonEvent& event);
  /// Before more events of the text, of which so much was read: from 0 to 1.
  void make_room(double share_read);
  /// After the last event: ranges that were begun and never ended get the trace's last time as
  /// their end; processes and times as our writer's metadata say.
  void finish(const OurMetadata& ours, const std::string& where);

 private:
  enum class Category {
    other,
    kernel,
    copy,
    set,
    runtime,
    driver,
    cpu_op,
    annotation,
    nvtx,
    overhead,
    sync,
    gpu_range,
    python,
    graph
  };
  struct Times {
    std::int64_t start = 0, end = 0;
  };

  Category category_of(std::string_view name) const;
  void add_complete(const JsonEvent& event);
  void add_op(const JsonEvent& event, OpKind kind);
  void describe(const JsonEvent& event, HostRange& range);
  static std::uint32_t external_of(const JsonEvent& event);
  void add_call(const JsonEvent& event, bool driver);
  void add_python(const JsonEvent& event);
  void add_memory(const JsonEvent& event);
  void add_gpu_range(const JsonEvent& event);
  void add_sync(const JsonEvent& event);
  void add_counter(const JsonEvent& event);
  void add_instant(const JsonEvent& event);
  void add_sample(const JsonEvent& event);
  void add_flow_end(const JsonEvent& event, bool start);
  void add_metadata(const JsonEvent& event);
  void begin(const JsonEvent& event);
  void end(const JsonEvent& event);
  void begin_async(const JsonEvent& event);
  void end_async(const JsonEvent& event);
  void close_open();
  void join_flows();
  void apply(const OurMetadata& ours);

  std::int64_t time_of(const JsonEvent& event) const;
  Times times_of(const JsonEvent& event) const;
  /// Of a span whose begin and end are events of their own.
  void check_end(std::int64_t start_ns, std::int64_t end_ns, const JsonEvent& event) const;
  std::uint32_t thread_of(const JsonEvent& event);
  std::uint32_t pid_of(const JsonEvent& event);
  std::uint32_t shape_of(const JsonEvent& event);
  std::int64_t number(std::string_view token, const char* what, const JsonEvent& event) const;
  static std::int64_t number_or_none(std::string_view token);  // none: -1
  std::uint64_t identity(std::string_view token, const char* what, const JsonEvent& event) const;
  std::uint32_t small(std::string_view token, const char* what, const JsonEvent& event) const;
  std::int32_t device_of(const JsonEvent& event);
  std::int64_t stream_of(const JsonEvent& event);
  std::int64_t row_number(std::string_view token);
  NameId text(std::string_view text) { return text.empty() ? kNoName : trace_.names.intern(text); }

  Trace& trace_;
  Fail fail_;
  std::unordered_map<std::string, std::uint32_t> threads_;
  std::string thread_key_, last_key_;
  std::uint32_t last_thread_ = 0;
  std::unordered_map<std::string, std::uint32_t> pids_;
  std::vector<std::string> pid_texts_;
  std::string last_pid_;
  std::uint32_t last_pid_number_ = 0;
  std::unordered_map<std::string, std::string> row_names_;           // by key of the thread
  std::unordered_map<std::string, std::int64_t> row_numbers_;        // of rows that have none
  std::unordered_map<std::uint32_t, std::vector<HostRange>> begun_;  // by thread
  std::map<std::string, std::vector<AsyncRange>> begun_async_;       // by pid, id and name
  struct FlowEnds {
    Flow flow;
    bool start = false, end = false;  // which of them were seen
  };
  std::map<std::string, FlowEnds> flows_;  // by pid and id
  LaunchShapes shapes_;
};

}  // namespace nsa::trace
