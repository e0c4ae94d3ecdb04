// A trace in memory, whatever wrote it: integer nanoseconds, names interned, events as recorded.
// Readers guarantee: 0 <= duration <= kMaxDurationNs, |time| <= kMaxTimeNs, so that the difference
// of two times fits in 64 bits.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nsa/trace/names.hpp"

namespace nsa::trace {

inline constexpr std::int64_t kMaxTimeNs = 4'000'000'000'000'000'000;  // the year 2096
inline constexpr std::int64_t kMaxDurationNs = std::int64_t{1} << 53;  // 104 days

/// A graph is what its recorder did not take apart: kernels, copies and memsets of one launch.
enum class OpKind : std::uint8_t { kernel, copy, set, graph };

/// Work of a GPU: a kernel, a copy, a memset, or a graph as a whole.
struct GpuOp {
  /// Recorders write 0 for both where the GPU gave no time stamp; that is no operation of 0 ns.
  bool has_time() const noexcept { return start_ns != 0 || end_ns != 0; }

  std::int64_t start_ns = 0, end_ns = 0;
  std::uint64_t correlation = 0;  // of its launch call; 0 = not recorded
  std::int64_t stream = 0;
  NameId name = kNoName;
  NameId stage = kNoName;     // what the recorder said itself; kNoName = nothing
  std::uint32_t process = 0;  // whose correlation ids and streams these are
  std::int32_t device = 0;
  std::uint32_t shape = 0;  // of a kernel: into Trace::shapes; 0 = not recorded
  OpKind kind = OpKind::kernel;
  std::uint64_t graph_node = 0;  // 0 = not out of a graph, or not recorded
  std::uint64_t bytes = 0;       // of a copy or memset
  std::uint32_t graph = 0, context = 0;
  std::uint32_t external = 0;  // of the operator that launched it; 0 = not recorded
  NameId arguments = kNoName;  // as HostRange::arguments
};

/// How kernels were launched; the same few again and again.
struct LaunchShape {
  bool operator==(const LaunchShape&) const = default;
  std::array<std::uint32_t, 3> grid{}, block{}, cluster{};  // cluster 0: none
  std::uint32_t registers = 0;                              // per thread
  std::uint32_t shared_bytes = 0;                           // per block, static and dynamic
};

/// A call of the CUDA (or HIP) runtime or driver.
struct ApiCall {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint64_t correlation = 0;
  NameId name = kNoName;  // without version suffix: cudaLaunchKernel
  std::uint32_t thread = 0;
  std::uint32_t process = 0;
  bool driver : 1 = false;
  std::uint32_t external : 31 = 0;  // as GpuOp::external
};

enum class RangeKind : std::uint8_t { annotation, nvtx, cpu_op };

/// A named span of a host thread. An `open` one was never closed by the program: its end is only a
/// bound.
struct HostRange {
  std::int64_t start_ns = 0, end_ns = 0;
  NameId name = kNoName;
  std::uint32_t thread = 0;
  std::uint32_t process = 0;
  RangeKind kind = RangeKind::cpu_op;
  bool open = false;
  std::uint16_t forward_thread = 0;  // of a backward operator: PyTorch's number of that thread
  NameId stack = kNoName;            // where an operator was called, as PyTorch writes it
  /// What the recorder said of an operator or collective, members of a JSON object: shapes, dtypes,
  /// message sizes, process group.
  NameId arguments = kNoName;
  std::uint32_t external = 0;  // PyTorch's number of it, by process; 0 = none
  /// Autograd's number: the backward of an operator has that of its forward; -1 = none.
  std::int32_t sequence = -1;
};

/// A function or module of Python, as PyTorch records them with `with_stack`. No figure uses them.
struct PythonCall {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t id = -1, parent = -1;  // of the recorder; -1 = none
  std::int64_t module = -1;           // of a module: which one of its name; -1 = a function
  NameId name = kNoName;
  std::uint32_t thread = 0;
  std::uint32_t process = 0;
};

/// A place in a Python program, and where it was called from: the stack of a sample is the list of
/// callers.
struct PythonFrame {
  NameId function = kNoName, file = kNoName;
  std::uint32_t line = 0;    // 0 = not known
  std::uint32_t caller = 0;  // into Trace::python_frames, below its own number; 0 = none
};

/// Where a thread stood at that moment and at `count - 1` more, each `period_ns` after the one
/// before it. The last of them is at most kMaxDurationNs after the first.
struct PythonSample {
  std::int64_t at_ns = 0, period_ns = 1;
  std::uint32_t count = 1;
  std::uint32_t frame = 0;  // the innermost, into Trace::python_frames
  std::uint32_t thread = 0;
  std::uint32_t process = 0;
};

/// A span that begins on one thread and may end on another.
struct AsyncRange {
  std::int64_t start_ns = 0, end_ns = 0;
  NameId name = kNoName;
  std::uint32_t process = 0;
};

/// What a range of the host took on a GPU: PyTorch's from its first to its last operation on a
/// stream, ours between two events on the default stream. Gaps are in it.
struct GpuRange {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t stream = -1;  // -1: by events, of all streams that wait for the default stream
  NameId name = kNoName;
  std::uint32_t process = 0;
  std::int32_t device = 0;
};

/// An arrow that autograd's recorder drew, from the start of a forward operator to the start of its
/// backward.
struct Flow {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t thread = 0, to_thread = 0;
  std::uint32_t process = 0;
};

/// A moment that somebody marked on a thread.
struct Instant {
  std::int64_t at_ns = 0;
  NameId name = kNoName;
  std::uint32_t thread = 0;
  std::uint32_t process = 0;
};

/// Time that the recording itself took, or CUDA on its own account (module loading, a full queue).
struct Overhead {
  std::int64_t start_ns = 0, end_ns = 0;
  NameId name = kNoName;
  std::uint32_t process = 0;
  bool of_profiler = true;
};

/// A synchronisation as the GPU's driver saw it; no operation of the GPU.
struct Sync {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint64_t correlation = 0;
  std::int64_t stream = -1;  // -1: of the whole device or context
  NameId name = kNoName;
  std::uint32_t process = 0;
  std::int32_t device = 0;
  /// Of a wait for an event: the stream in which it was recorded (-1: not stated), and the
  /// correlation of the call that did (0: not stated).
  std::int64_t wait_on_stream = -1;
  std::uint64_t event_record = 0;
};

/// A reading: clocks, power, memory, ... of a device, or of the process (device -1).
struct Counter {
  std::int64_t at_ns = 0;
  double value = 0;
  NameId name = kNoName;
  std::uint32_t process = 0;
  std::int32_t device = -1;
};

inline constexpr std::int64_t kNotStated = -1;

/// An allocation (bytes > 0) or a release, and the allocator's totals after it (kNotStated in old
/// files).
struct MemoryEvent {
  std::int64_t at_ns = 0, bytes = 0;
  std::uint64_t address = 0;
  std::int64_t allocated_bytes = 0, reserved_bytes = 0;
  std::int32_t device = 0;
  std::uint32_t process = 0;
};

struct DeviceInfo {
  std::int32_t id = 0;
  std::string name;
  std::uint32_t part = 0;  // as in ProcessInfo: GPU 0 of two hosts is two GPUs
};

struct StepRange {
  std::string name, source;  // source: "annotation", "nvtx", "detected", "repeating_kernels"
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t process = 0;
  /// The times are those of the device: an operation belongs to the step in which it starts, not
  /// to that in which it was launched.
  bool on_device = false;
  /// False: the others go on until the next one begins, and after this one there is none.
  bool whole = true;
  /// Of a part of a trace: when the first operation of the next step starts, kept or not.
  std::optional<std::int64_t> next_op_ns = {};
};

/// A host thread: events hold its number in Trace::threads. Ids are numbers, but for texts that
/// PyTorch writes ("Spans").
struct ThreadInfo {
  std::string pid, tid;
  std::string name;  // empty: not recorded
};

/// What the recorder counted. launches = kernels + copies + sets + dropped + lost + outside.
struct Totals {
  bool complete = false;  // the recording ended in order; false: what came last is missing
  std::optional<std::uint64_t> launches;
  std::uint64_t recorded = 0;  // kernels, copies and memsets in the recording
  std::uint64_t dropped = 0;   // by CUPTI
  std::uint64_t lost = 0;      // by the tracer: the file could not be written
  std::uint64_t outside = 0;   // left out on purpose: outside of the window
  std::uint64_t torn_bytes = 0;
};

/// What the recorder has to say in words.
struct Note {
  std::string what;  // information, self_profiled, degraded, nothing, hang, forked, error
  std::string text;
};

/// A process that was recorded. Where a file holds several, operations and calls say which.
struct ProcessInfo {
  std::string pid;
  std::uint32_t part = 0;  // which of the recordings that were merged; 0 where none were
  std::optional<std::int64_t> rank, world_size;
  std::map<std::string, std::string> metadata;  // command, host, driver, libraries, ...
  std::optional<Totals> totals;
  std::vector<Note> notes;
};

/// What several recordings were put on one time line by.
enum class ClockAlignment : std::uint8_t {
  one_clock,       // all are of one host
  collectives,     // which end on all ranks at once
  steps,           // which begin on all ranks at once
  absolute_times,  // as far off as the clocks of the hosts are
  none             // no time of one can be compared with a time of another
};
/// The enumerator's name.
std::string_view to_string(ClockAlignment alignment);

struct Clocks {
  ClockAlignment alignment = ClockAlignment::one_clock;
  std::string assumption;  // what was taken to be so, in words
  /// How far moments lie apart that should be one: nine of ten no further.
  std::optional<std::int64_t> spread_ns;

  /// Whether times of different recordings stand on one time line.
  bool comparable() const {
    return alignment != ClockAlignment::absolute_times && alignment != ClockAlignment::none;
  }
};

/// Of a part of a trace: GPU operations and calls of CUDA that are left, and of how many.
struct KeptCounts {
  std::int64_t ops = 0, of_ops = 0, calls = 0, of_calls = 0;
};

/// What the file is, and what it can hold.
struct Origin {
  std::string path;
  std::string format;        // "chrome_json", "nsys_sqlite", "spool", "merged"
  std::uint64_t events = 0;  // all of the file, also those that no analysis needs
  std::uint64_t bytes = 0;   // unpacked
  std::optional<std::int64_t> base_time_ns, rank, world_size;
  std::string part;  // that keep() left, as flags: "--step 3-7 --name flash"; empty: all of it
  std::optional<std::int64_t> first_ns;  // where only a part is left: the first event of all
  std::optional<KeptCounts> kept;        // and what is left of it
  std::uint64_t untimed_ops = 0;  // GPU operations without a time stamp; they are not in `ops`
  std::uint64_t flow_starts = 0, flow_ends = 0;  // arrows between events
  bool holds_overhead = true;    // false: its recorder does not write the profiler's own time
  std::optional<Clocks> clocks;  // of several recordings that were merged
};

struct Trace {
  Origin source;
  NamePool names;
  std::vector<GpuOp> ops;
  std::vector<ApiCall> calls;
  std::vector<HostRange> ranges;
  std::vector<PythonCall> python;
  std::vector<PythonFrame> python_frames{PythonFrame{}};  // [0]: none
  std::vector<PythonSample> python_samples;
  std::vector<Overhead> overheads;
  std::vector<MemoryEvent> memory;
  std::vector<AsyncRange> async_ranges;
  std::vector<GpuRange> gpu_ranges;
  std::vector<Flow> flows;
  std::vector<Instant> instants;
  std::vector<Sync> syncs;
  std::vector<Counter> counters;
  std::vector<LaunchShape> shapes{LaunchShape{}};  // [0]: not recorded
  /// Of a part of a trace: the steps of the whole that are in it. A part may not hold what tells
  /// them, and their numbers are those of the whole.
  std::optional<std::vector<StepRange>> steps;
  std::vector<DeviceInfo> devices;
  std::vector<ThreadInfo> threads;
  std::vector<ProcessInfo> processes;
  /// Keys that stood beside the events and their JSON, for those that nothing here models.
  std::vector<std::pair<std::string, std::string>> other_metadata;

  /// The recording that a process is of.
  std::uint32_t part_of(std::uint32_t process) const {
    return process < processes.size() ? processes[process].part : 0;
  }
  /// Whether times of all its recordings can be compared.
  bool one_time_line() const { return !source.clocks || source.clocks->comparable(); }
};

}  // namespace nsa::trace
