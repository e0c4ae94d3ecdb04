// Turns the records of a spool into the model.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "markers.hpp"
#include "names.hpp"
#include "nsa/trace/model.hpp"
#include "read/launch_shapes.hpp"

namespace nsa::trace {

class SpoolSink {
 public:
  SpoolSink(std::string_view bytes, const std::string& where, Trace& trace)
      : cursor_(bytes, where),
        texts_(bytes, where),
        trace_(trace),
        shapes_(trace.shapes),
        markers_(trace) {}

  /// All records, once.
  void read();

 private:
  void read_header();
  void read_record();
  void read_rare();

  template <class Record>
  void check(const Record& record);
  std::int64_t checked_time(std::int64_t at_ns);
  template <class Record>
  GpuOp op_of(const Record& record, OpKind kind);
  void add_kernel(const spool::SpoolKernel& record);
  void add_copy(const spool::SpoolCopy& record);
  void add_set(const spool::SpoolSet& record);
  void add_call(const spool::SpoolApi& record);
  void add_marker(const spool::SpoolMarker& record);
  void add_message(const spool::SpoolMessage& record);
  void add_gpu_range(const spool::SpoolGpuRange& record);
  void add_sync(const spool::SpoolSync& record);
  void add_event(const spool::SpoolEvent& record);
  void add_memory(const spool::SpoolMemory& record);
  void add_overhead(const spool::SpoolOverhead& record);
  void add_counter(const spool::SpoolCounter& record);
  void add_mark(const spool::SpoolMark& record);
  void add_python_frame(const spool::SpoolPythonFrame& record);
  void add_python_sample(const spool::SpoolPythonSample& record);

  void add_stage(const spool::SpoolStage& record);
  void add_metadata(const spool::SpoolMetadata& record);
  void add_device(const spool::SpoolDevice& record);
  void add_thread(const spool::SpoolThread& record);
  void add_note(const spool::SpoolNote& record);
  void add_anchor(const spool::SpoolAnchor& record);

  void put_stages();
  void put_events();
  void put_names();
  void finish_totals();
  void count_memory();
  std::uint32_t thread(std::uint32_t tid);
  ProcessInfo& process() { return trace_.processes.front(); }

  spool::SpoolCursor cursor_;
  SpoolTexts texts_;
  Trace& trace_;
  LaunchShapes shapes_;
  SpoolMarkers markers_;
  std::unordered_map<std::uint32_t, std::uint32_t> threads_;
  std::unordered_map<std::uint64_t, NameId> by_correlation_, by_node_;
  std::unordered_map<std::uint32_t, std::uint32_t> frames_;      // into Trace::python_frames
  std::unordered_map<std::uint32_t, spool::SpoolEvent> events_;  // by SpoolEvent::sync
  std::vector<std::pair<std::size_t, std::uint32_t>> event_of_sync_;
  std::set<std::string> step_names_, modules_;
  std::optional<spool::SpoolTotals> totals_;
  std::uint64_t recorded_ = 0;
  std::int64_t last_ns_ = -kMaxTimeNs;
};

}  // namespace nsa::trace
