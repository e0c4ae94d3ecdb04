// What a trace says in figures. All times are integer nanoseconds; what the source does not hold is
// absent, with the reason in `null_reasons`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nsa/trace/collectives.hpp"
#include "nsa/trace/critical_path.hpp"
#include "nsa/trace/model.hpp"
#include "nsa/trace/tables.hpp"

namespace nsa::trace {

/// Causes of idle time. They add up to it; absent: the source cannot tell.
struct IdleClasses {
  std::optional<std::int64_t> host_wait;      // no launch was pending
  std::optional<std::int64_t> kernel_wait;    // one was
  std::optional<std::int64_t> sync;           // the host was in a synchronising call
  std::optional<std::int64_t> blocking_call;  // it was in a copy, an allocation, module loading
  std::optional<std::int64_t> profiler_overhead;
  std::int64_t other = 0;  // what ends the gap has no recorded launch
};

/// What holds of GPU operations (kernels, copies, memsets) whatever their clocks.
struct GpuSums {
  std::int64_t kernel_sum_ns = 0, op_sum_ns = 0;
  std::int64_t kernels = 0, memops = 0, comm_kernels = 0, distinct_kernels = 0;
  std::int64_t same_stream_overlaps = 0;
  std::int64_t graph_nodes = 0;  // operations that the launch of a graph started
  /// Launches of graphs that were recorded as a whole: what is in them is unknown, and so are the
  /// figures of kernels, copies and memsets.
  std::int64_t whole_graphs = 0;
};

/// GPU operations of a file, a device, a stream or a step on one time line. Of several devices the
/// span is from the first start to the last end of all, every other time the sum of the devices':
/// idle is what each of them was idle between its own first start and last end.
struct GpuFigures : GpuSums {
  /// What shares are taken of: the span of one device, the sum of the spans of several.
  std::int64_t device_ns() const { return busy_ns + idle_ns; }

  std::int64_t start_ns = 0, end_ns = 0;  // as in the file
  std::int64_t span_ns = 0, busy_ns = 0, idle_ns = 0;
  std::int64_t compute_ns = 0, comm_ns = 0, mem_ns = 0;
  std::int64_t comm_overlapped_by_compute_ns = 0, exposed_comm_ns = 0;
  IdleClasses idle_by_class_ns;
};

struct StreamSummary {
  std::int64_t stream = 0;
  std::uint32_t process = 0;
  GpuFigures gpu;
};

struct DeviceSummary {
  std::int32_t device = 0;
  std::uint32_t part = 0;  // ProcessInfo::part
  std::optional<std::string> name;
  GpuFigures gpu;
  std::vector<StreamSummary> streams;
};

/// Durations of what has one name. The median is by nearest rank.
struct TimesByName {
  std::string name;
  std::int64_t count = 0, total_ns = 0, min_ns = 0, median_ns = 0, max_ns = 0;
};

/// Kernels of one name, demangled.
struct KernelRow : TimesByName {
  bool comm = false;
  std::int64_t graph_nodes = 0;  // of `count`: out of graphs, whose launch they share
  std::int64_t launches = 0;     // others, whose launch call was recorded
  /// Sums over those: in the call, and from its return to the kernel's start (0 where it began
  /// before).
  std::int64_t call_ns = 0, queue_ns = 0;
  std::optional<std::string> attention_backend;  // flash, memory_efficient, math, cudnn, ours
};

/// Start of an operation minus start of its launch call. Percentiles by nearest rank.
struct LaunchToStart {
  std::int64_t mean = 0, p50 = 0, p99 = 0, max = 0;
};

/// Calls in which the host waited.
struct HostSync {
  std::string api;
  std::string wait;                  // sync, copy, allocation, module_loading, queue_full
  std::optional<std::string> stage;  // absent: outside of every known stage
  bool stage_inferred = false;       // as StageRow::inferred()
  std::int64_t count = 0, total_ns = 0;
};

/// Work launched within a step, wherever it ran.
struct Step {
  std::string name;
  std::string source;                   // "annotation", "nvtx", "detected", "repeating_kernels"
  std::uint32_t process = 0, part = 0;  // of ProcessInfo
  std::int64_t start_ns = 0, duration_ns = 0;
  std::int64_t api_calls = 0, host_syncs = 0, host_sync_ns = 0;
  std::optional<GpuFigures> gpu;  // absent: no operation of the file has a launch call
  /// On the device's line: from its first operation to the first one of the next step, of the last
  /// step to its last end. Absent: it launched nothing.
  std::optional<std::int64_t> device_start_ns, device_ns;
};

/// Work of one NSA stage, or of backward, optimizer, communication; each operation counts once.
struct StageRow {
  /// From the order of operators; no range names it. A stage can be there twice, as named and as
  /// inferred.
  bool inferred() const { return backward_ns.has_value(); }

  std::string stage;
  std::optional<std::string> parent;  // pcmp, pslc and topk are parts of score
  std::int64_t ops = 0, kernels = 0, total_ns = 0, host_syncs = 0, host_sync_ns = 0;
  std::optional<std::int64_t> busy_ns;  // absent: not on one time line
  /// Of the devices, before operations of this stage: until one of them began, nothing ran. Absent
  /// as busy_ns.
  std::optional<std::int64_t> idle_ns;
  /// Of the total, what the backward pass launched. Absent: the stage is not inferred, and backward
  /// is a class of its own.
  std::optional<std::int64_t> backward_ns;
};

/// What text calls a stage: "topk", or "topk (inferred)".
std::string stage_text(const std::string& stage, bool inferred);

struct AttentionRow {
  std::string backend;
  std::int64_t kernels = 0, total_ns = 0;
};

struct Allocation {
  std::int64_t bytes = 0, at_ns = 0;
  std::int32_t device = 0;
};

/// Of all GPUs together; totals are absent where the source does not state them.
struct MemorySummary {
  std::optional<std::int64_t> peak_allocated_bytes, peak_reserved_bytes;
  std::optional<std::int64_t> last_allocated_bytes, last_reserved_bytes;
  std::vector<Allocation> top_allocations;  // largest first
};

/// What a process's recorder counted.
struct RecordingRow {
  std::string pid;
  std::optional<std::int64_t> rank;
  Totals totals;
  std::optional<bool> all_there;  // launches = recorded + dropped + lost + outside
  std::vector<Note> notes;
};

struct Summary {
  /// How it is known which streams wait for the communication, as CriticalPath::events: unless it
  /// is "recorded", exposed communication says that nothing was computed meanwhile, not that the
  /// trace would be shorter without it. Absent: there is none, no critical path, or one stream a
  /// device, whose order says all.
  std::optional<std::string> exposed_comm_waits() const {
    if (!gpu || gpu->whole_graphs > 0 || gpu->comm_ns == 0 || !critical_path) return {};
    for (const DeviceSummary& device : devices)
      if (device.streams.size() > 1) return critical_path->events;
    return {};
  }

  /// What follows exposed communication in a text where it is not known what waited for it.
  std::string exposed_comm_doubt() const;

  std::string path, format;
  std::string part;                // of it that is summarised, as flags; empty: all
  std::optional<KeptCounts> kept;  // of a part
  std::uint64_t events = 0, bytes = 0;
  std::int64_t first_ns = 0;               // when its first event began; of the whole file
  std::uint64_t gpu_ops_without_time = 0;  // recorded without a time stamp, so in no figure
  std::optional<std::string> host;
  std::optional<std::int64_t> base_time_ns, rank, world_size;
  std::optional<Clocks> clocks;                             // of a merged trace
  std::vector<std::optional<std::int64_t>> ranks_of_parts;  // of its recordings, where stated

  std::optional<GpuSums> sums;    // of all GPU operations; absent: there are none
  std::optional<GpuFigures> gpu;  // the same on one time line; absent too where they are on several
  std::optional<std::int64_t> api_calls, gpu_ops_with_launch, gpu_ops_without_launch;
  std::optional<std::vector<KernelRow>> kernels_by_name;  // largest total first
  /// What ranges of the host took on the GPU (GpuRange); of steps with N for their number.
  std::optional<std::vector<TimesByName>> gpu_ranges_by_name;      // largest total first
  std::optional<std::map<std::string, std::int64_t>> launch_apis;  // of the GPU operations
  std::optional<LaunchToStart> launch_to_start_ns;
  std::optional<std::vector<HostSync>> host_syncs;  // largest total first
  std::optional<std::int64_t> partial_overlaps_on_a_thread;
  std::vector<DeviceSummary> devices;
  /// Of several devices the one that is idle and waits for communication most: into `devices`.
  std::optional<std::size_t> worst_device;
  std::optional<Collectives> collectives;
  std::optional<std::vector<CopyRow>> copies;  // largest total first
  std::optional<std::vector<Step>> steps;
  std::optional<StepTimes> step_times;  // of `steps`
  std::optional<std::vector<StageRow>> stages;
  std::optional<std::int64_t> unattributed_ns, unattributed_idle_ns;
  std::optional<Gaps> gaps;
  std::optional<std::vector<QueueRow>> queue;  // a row for each device
  std::optional<CriticalPath> critical_path;
  std::optional<std::vector<OperatorRow>> operators;      // most GPU time of their own first
  std::optional<std::vector<AnnotationRow>> annotations;  // largest projection first
  std::optional<std::vector<ModuleRow>> modules;          // most GPU time first
  std::optional<std::vector<AttentionRow>> attention;
  std::optional<MemorySummary> memory;
  std::optional<std::vector<RecordingRow>> recording;  // by process
  std::map<std::string, std::string> null_reasons;     // key of an absent figure -> why
};

/// Pure: the same summary for the same trace.
Summary summarize(const Trace& trace);
/// Of each recording of a merged trace its communication: rows of what it did itself, with the
/// waits and rates that all recordings tell together, and the ranks of all. Empty: none
/// communicated.
std::vector<Collectives> collectives_of_parts(const Trace& trace);

}  // namespace nsa::trace
