// The tracer inside a program that is not ours: what is asked for, and where the program stands.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "cuda/nvml.hpp"
#include "cupti/tracer.hpp"
#include "inject/payload.hpp"
#include "inject/range_timer.hpp"
#include "inject/spool_file.hpp"
#include "inject/window.hpp"

namespace nsa::inject {

/// One a process; made when it first uses CUDA, and never destroyed: threads of the program may run
/// after its exit handlers.
class Injector {
 public:
  /// Opens the spool and CUPTI, and starts the thread that empties its buffers. What cannot be done
  /// is a note in the spool, or a line on stderr where there is none.
  static void start(const Request& request);
  /// Null before start() and in a child that was forked.
  static Injector* get();

  /// The program uses NVTX.
  void nvtx_comes_in() {
    if (tracer_) tracer_->record_markers();
  }
  /// A range with that name begins: a step, perhaps.
  void range_begins(std::string_view name);
  /// It is one that the same thread will close; and did.
  void range_opens(const void* domain, std::string_view name);
  void range_closes(const void* domain, std::string_view name);
  /// NCCL sends something in a range with that name, which has just begun on this thread.
  void sends(std::string_view name, const Sent& sent);
  /// cudaProfilerStart and Stop, and launches where they are counted.
  void on_call(const probes::cupti::Tracer::CallEvent& event);
  /// A hook in the program says that it does what belongs to its first step.
  void loop_begins();
  /// It says that a step ends and the next one begins: whose number, or -1 where it does not count.
  std::int64_t step_ends();
  bool records() const { return records_.load(std::memory_order_relaxed); }
  /// CUPTI has filled a buffer.
  void on_buffer();
  /// Which range a graph's node was captured in: kernels of its replays belong to it.
  void on_node(const probes::cupti::Tracer::NodeEvent& event);
  /// The program ends.
  void finish();

 private:
  explicit Injector(const Request& request) : request_(request) {}
  void describe();
  void open_tracer();
  void time_ranges(const std::string& why);
  void watch_calls();
  void enter(Phase phase, bool waits);
  void on_profiler_call(const probes::cupti::Tracer::CallEvent& event, bool starts);
  void count_call(const probes::cupti::Tracer::CallEvent& event);
  void enter_at_call(Phase phase, const probes::cupti::Tracer::CallEvent& event);
  void on_kernel(const probes::cupti::Tracer::CallEvent& event);
  bool is_step(std::string_view name) const {
    return is_step_name(name, request_.window.step_name);
  }
  bool bounds_step(std::string_view name) const;
  bool marks_steps_elsewhere() const {
    return step_source_ == StepSource::hook || !request_.window.step_kernel.empty();
  }
  void follow_phase();
  void begin_tracing();
  void end_tracing();
  void mark(spool::MarkWhat what, std::int64_t index, std::string_view name);
  void run();
  void tick();
  void follow_time();
  void note_devices();
  void sample_devices();
  void watch_for_hang();
  void note_hang();
  void append_totals(bool is_final);
  void finish_timing();
  void note_hooks();
  void note_stacks();
  void anchor();

  Request request_;
  SpoolFile spool_;
  struct Sink;
  std::unique_ptr<probes::cupti::RecordSink> sink_;
  std::unique_ptr<probes::cupti::Tracer> tracer_;  // null: degraded
  std::unique_ptr<RangeTimer> timer_;              // then, where the driver has events
  probes::Nvml nvml_;
  std::int64_t started_ns_ = 0;

  std::mutex phase_mutex_;
  Phase phase_ = Phase::skipping;
  bool tracing_ = false;
  bool ending_ = false;  // the window is over, the thread has still to switch off
  probes::cupti::Keep keep_;
  enum class StepSource { none, ranges, hook, kernel };  // who marked one first
  StepSource step_source_ = StepSource::none;
  std::unordered_map<const void*, bool> begins_step_;  // kernels by the address of their name
  std::int64_t steps_ = 0;                             // that have begun
  std::atomic<bool> records_{false};                   // phase_ is recording
  std::atomic<std::int64_t> calls_{0};

  std::mutex nodes_mutex_;
  std::unordered_map<std::uint64_t, std::uint32_t> node_ranges_;  // node -> text of its range

  std::uint64_t ended_ = 0;  // operations, when the hang watch looked last
  std::int64_t last_progress_ns_ = 0;
  bool hang_noted_ = false;

  std::thread thread_;
  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  bool has_buffers_ = false;
};

}  // namespace nsa::inject
