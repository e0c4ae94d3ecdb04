// The spool: what a tracer inside a program appends while it runs, and what `trace record` turns
// into a trace afterwards. One file a process, in that machine's byte order. Records are plain
// structs: a writer fills one and appends its bytes, nothing is formatted. This header needs no
// library, so that what is injected into a foreign program stays small.
//
//   SpoolHeader, then records in any order, each a multiple of 8 bytes that begins with
//   SpoolRecord.
//
// Times are CLOCK_MONOTONIC in nanoseconds. Texts are numbered per file by `text` records, 0 is the
// empty text. A process that is killed leaves whole records and perhaps a piece of one; it has no
// SpoolTotals with kSpoolFinal. Threads may share a record that none of them changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace nsa::spool {

inline constexpr char kMagic[8] = {'N', 'S', 'A', 'S', 'P', 'O', 'O', 'L'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kByteOrder = 0x01020304;
inline constexpr std::uint32_t kMaxRecordBytes = 16u << 20;
inline constexpr const char* kFileSuffix = ".nsaspool";

struct SpoolHeader {
  char magic[8] = {'N', 'S', 'A', 'S', 'P', 'O', 'O', 'L'};
  std::uint32_t byte_order = kByteOrder;
  std::uint32_t version = kVersion;
  std::uint32_t header_bytes = 64;
  std::uint32_t process = 0;           // pid
  std::int64_t start_ns = 0;           // CLOCK_MONOTONIC and, at the same moment,
  std::int64_t start_realtime_ns = 0;  // CLOCK_REALTIME
  std::int32_t rank = -1, world_size = -1, local_rank = -1;  // -1 = not known
  std::uint32_t parent_process = 0;
  std::uint64_t recorder = 0;  // which `trace record` it is for (kEnvRecorder); 0 = none
};

enum class Kind : std::uint16_t {
  none = 0,  // zeros: a part of the file that was reserved and never written
  text,
  metadata,
  device,
  thread,
  kernel,
  copy,
  set,
  api,
  sync,
  marker,
  stage,
  memory,
  overhead,
  counter,
  anchor,
  mark,
  note,
  totals,
  gpu_range,
  message,
  event,
  python_frame,
  python_sample
};

/// What every record begins with.
struct SpoolRecord {
  std::uint32_t bytes = 0;  // of the record with this header; a multiple of 8
  Kind kind = Kind::none;
  std::uint16_t flags = 0;
};

/// Text number `id`, not 0: `length` bytes follow, then zeros up to a multiple of 8. Any bytes are
/// allowed, UTF-8 is meant. A writer appends it before the first record that refers to it.
struct SpoolText {
  SpoolRecord record{0, Kind::text, 0};
  std::uint32_t id = 0;
  std::uint32_t length = 0;
};

/// Key and value as text numbers: command, host, executable, driver, cuda_runtime, cupti_library,
/// cupti_header, tracer (full, degraded), subscriber_in_the_way, clock, window, library.<name>, ...
/// A later record of the same key replaces the value.
struct SpoolMetadata {
  SpoolRecord record{16, Kind::metadata, 0};
  std::uint32_t key = 0, value = 0;
};

struct SpoolDevice {
  SpoolRecord record{48, Kind::device, 0};
  std::int32_t id = 0;
  std::uint32_t name = 0, uuid = 0;  // texts
  std::int32_t major = 0, minor = 0, sms = 0;
  std::uint64_t memory_bytes = 0;
  std::int32_t sm_clock_khz = 0, memory_clock_khz = 0;
};

struct SpoolThread {
  SpoolRecord record{16, Kind::thread, 0};
  std::uint32_t thread = 0;  // gettid
  std::uint32_t name = 0;
};

inline constexpr std::uint16_t kDeviceLaunched = 1;  // flag of a kernel

/// start = end = 0: the GPU gave no time stamps.
struct SpoolKernel {
  SpoolRecord record{120, Kind::kernel, 0};
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint64_t correlation = 0;  // of the launch call; all nodes of a graph launch share it
  std::uint64_t graph_node = 0;   // 0 = not out of a graph
  std::uint32_t name = 0;         // mangled as CUPTI has it
  std::int32_t device = 0;
  std::uint32_t context = 0, stream = 0, graph = 0;
  std::uint32_t grid[3] = {}, block[3] = {}, cluster[3] = {};
  std::uint32_t registers = 0, static_shared = 0, dynamic_shared = 0;  // per thread, per block
  std::int32_t priority = 0;
  std::uint32_t channel = 0, reserved = 0;
};

inline constexpr std::uint16_t kAsync = 1;  // flag of a copy

/// Numbers of copy and memory kinds are CUPTI's.
struct SpoolCopy {
  SpoolRecord record{88, Kind::copy, 0};
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint64_t correlation = 0, graph_node = 0, bytes = 0;
  std::int32_t device = 0, peer_device = -1;  // -1 = one device only
  std::uint32_t context = 0, stream = 0, graph = 0;
  std::uint32_t copy_kind = 0, source_kind = 0, target_kind = 0;
  std::uint32_t reserved[2] = {};
};

struct SpoolSet {
  SpoolRecord record{72, Kind::set, 0};
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint64_t correlation = 0, graph_node = 0, bytes = 0;
  std::int32_t device = 0;
  std::uint32_t context = 0, stream = 0, graph = 0, value = 0, memory_kind = 0;
};

inline constexpr std::uint16_t kDriver = 1;  // flag of an api call: cu..., not cuda...

struct SpoolApi {
  SpoolRecord record{48, Kind::api, 0};
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint64_t correlation = 0;
  std::uint32_t name = 0, thread = 0;
  std::int32_t result = 0;  // its error code
  std::uint32_t reserved = 0;
};

/// A synchronisation as CUPTI records it; not busy time of the GPU.
struct SpoolSync {
  SpoolRecord record{56, Kind::sync, 0};
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint64_t correlation = 0;
  std::uint32_t type = 0, context = 0, stream = 0, event = 0;  // type: CUPTI's; stream: ~0 = none
  std::int32_t device = -1;
  std::uint32_t event_sync = 0;  // of a wait for an event: SpoolEvent::sync
};

/// An event was recorded in a stream.
struct SpoolEvent {
  SpoolRecord record{32, Kind::event, 0};
  std::uint64_t correlation = 0;  // of the call
  std::uint32_t sync = 0;         // not 0: its own for each time that an event is recorded
  std::uint32_t context = 0, stream = 0;
  std::int32_t device = 0;
};

enum class MarkerWhat : std::uint32_t { instant = 1, begin = 2, end = 3 };

/// NVTX. A begin and its end have the same `id`, on whatever thread; id 0: the last begin of the
/// thread that is still open (push and pop). The end's name may be 0.
/// The domain of ranges that a hook in the program opened.
inline constexpr std::string_view kHookDomain = "nsatune";

struct SpoolMarker {
  SpoolRecord record{40, Kind::marker, 0};
  std::int64_t at_ns = 0;
  std::uint64_t id = 0;
  MarkerWhat what = MarkerWhat::instant;
  std::uint32_t name = 0, domain = 0, thread = 0;
};

/// What a range of the host took on the GPU, by two events on the default stream of its device:
/// from when that stream got to the range's begin to when it got to its end. Gaps are in it; work
/// on streams that do not wait for the default stream is not.
struct SpoolGpuRange {
  SpoolRecord record{40, Kind::gpu_range, 0};
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t name = 0, thread = 0;
  std::int32_t device = 0;
  std::uint32_t reserved = 0;
};

/// What NCCL sends in the NVTX range of that name which is open on that thread at that moment.
struct SpoolMessage {
  SpoolRecord record{48, Kind::message, 0};
  std::int64_t at_ns = 0;
  std::uint64_t bytes = 0;  // as NCCL counts them: what one rank gives, or gets of all others
  std::uint64_t communicator = 0;  // the same number on all of its ranks; 0 = not known
  std::uint32_t ranks = 0;         // of the communicator; 0 = not known
  std::uint32_t name = 0, thread = 0;
  std::uint32_t reserved = 0;
};

/// A place in a Python program, and where it was called from: the stack of a sample is the list of
/// callers. A writer appends it before the first record that refers to it.
struct SpoolPythonFrame {
  SpoolRecord record{32, Kind::python_frame, 0};
  std::uint32_t id = 0;                  // its own, not 0
  std::uint32_t caller = 0;              // another frame; 0 = none, or too deep to tell
  std::uint32_t function = 0, file = 0;  // texts
  std::uint32_t line = 0;                // 0 = not known
  std::uint32_t reserved = 0;
};

/// The thread stood there at that moment, and at so many more, each `period_ns` after the one
/// before it: it was in one call of C from the first to the last.
struct SpoolPythonSample {
  SpoolRecord record{40, Kind::python_sample, 0};
  std::int64_t at_ns = 0;
  std::int64_t period_ns = 0;
  std::uint32_t frame = 0, thread = 0;
  std::uint32_t count = 1;  // moments
  std::uint32_t reserved = 0;
};

enum class StageOf : std::uint32_t { correlation = 1, graph_node = 2 };

/// Which NSA stage launched an operation, where the tracer knows it itself.
struct SpoolStage {
  SpoolRecord record{24, Kind::stage, 0};
  std::uint64_t id = 0;
  StageOf of = StageOf::correlation;
  std::uint32_t stage = 0;
};

/// bytes > 0 allocates, < 0 releases. The totals count all of the process on that device, those of
/// pools included; -1 = not known.
struct SpoolMemory {
  SpoolRecord record{72, Kind::memory, 0};
  std::int64_t at_ns = 0, bytes = 0;
  std::uint64_t address = 0, correlation = 0;
  std::int64_t allocated_bytes = -1, reserved_bytes = -1;
  std::int32_t device = 0;
  std::uint32_t memory_kind = 0;  // CUPTI's
  std::uint32_t pool = 0;         // 1: out of a memory pool
  std::uint32_t thread = 0;
};

/// Named as Kineto does: "Buffer Flush", "Instrumentation", "Resource", "Activity Buffer Request",
/// "Command Buffer Full", "Runtime Triggered Module Loading", "Lazy Function Loading", "Driver
/// Compiler", "UVM Activity Init".
struct SpoolOverhead {
  SpoolRecord record{40, Kind::overhead, 0};
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint64_t correlation = 0;
  std::uint32_t name = 0, thread = 0;
};

/// A reading: sm_clock_mhz, memory_clock_mhz, power_watts, temperature_c, throttle_reasons (NVML's
/// bits), memory_used_bytes, ... device -1: of the process.
struct SpoolCounter {
  SpoolRecord record{32, Kind::counter, 0};
  std::int64_t at_ns = 0;
  double value = 0;
  std::uint32_t name = 0;
  std::int32_t device = -1;
};

/// The clocks at one moment: at the start, at the end, and in between as wanted.
struct SpoolAnchor {
  SpoolRecord record{32, Kind::anchor, 0};
  std::int64_t monotonic_ns = 0, realtime_ns = 0;
  std::uint64_t cupti_ns = 0;
};

enum class MarkWhat : std::uint32_t { step = 1, window_begin = 2, window_end = 3 };

/// The schedule: a step of the program began (`index` from 0, all steps counted), recording began,
/// recording ended.
struct SpoolMark {
  SpoolRecord record{32, Kind::mark, 0};
  std::int64_t at_ns = 0, index = 0;
  MarkWhat what = MarkWhat::step;
  std::uint32_t name = 0;
};

enum class NoteWhat : std::uint32_t {
  information = 1,
  self_profiled = 2,  // the program profiles itself
  degraded = 3,       // another tool holds CUPTI: ranges by events, no activity records
  nothing = 4,        // why nothing was recorded
  hang = 5,           // open stage, last kernel, host stacks; several lines
  forked = 6,
  error = 7
};

struct SpoolNote {
  SpoolRecord record{24, Kind::note, 0};
  std::int64_t at_ns = 0;
  NoteWhat what = NoteWhat::information;
  std::uint32_t text = 0;
};

inline constexpr std::uint16_t kSpoolFinal = 1;  // flag of totals: written by the exit handler

/// Since the start; the last one counts. A tracer may append one with every flush, so that a killed
/// program can be judged too. launches = recorded + dropped, where launches are the operations that
/// the program asked for (a graph launch counts its nodes) and recorded are kernels + copies +
/// sets.
struct SpoolTotals {
  SpoolRecord record{96, Kind::totals, 0};
  std::int64_t at_ns = 0;
  std::uint64_t launches = 0;  // ~0 = not counted
  std::uint64_t kernels = 0, copies = 0, sets = 0, apis = 0, markers = 0;
  std::uint64_t dropped = 0;  // by CUPTI, exactly
  std::uint64_t lost = 0;     // by us: the spool could not be written
  std::uint64_t graph_launches = 0;
  std::uint64_t outside = 0;  // records outside of the window, left out on purpose
};
inline constexpr std::uint64_t kNotCounted = ~std::uint64_t{0};

// The layout is the interface: no padding, sizes as written into `bytes`.
template <class Record>
inline constexpr bool kPlain = std::is_trivially_copyable_v<Record> && sizeof(Record) % 8 == 0 &&
                               alignof(Record) == 8;
static_assert(sizeof(SpoolHeader) == 64 && sizeof(SpoolRecord) == 8 && sizeof(SpoolText) == 16);
static_assert(kPlain<SpoolKernel> && sizeof(SpoolKernel) == 120);
static_assert(kPlain<SpoolCopy> && sizeof(SpoolCopy) == 88);
static_assert(kPlain<SpoolSet> && sizeof(SpoolSet) == 72);
static_assert(kPlain<SpoolApi> && sizeof(SpoolApi) == 48);
static_assert(kPlain<SpoolSync> && sizeof(SpoolSync) == 56);
static_assert(kPlain<SpoolEvent> && sizeof(SpoolEvent) == 32);
static_assert(kPlain<SpoolMarker> && sizeof(SpoolMarker) == 40);
static_assert(kPlain<SpoolGpuRange> && sizeof(SpoolGpuRange) == 40);
static_assert(kPlain<SpoolMessage> && sizeof(SpoolMessage) == 48);
static_assert(sizeof(SpoolPythonFrame) == 32);
static_assert(kPlain<SpoolPythonSample> && sizeof(SpoolPythonSample) == 40);
static_assert(kPlain<SpoolStage> && sizeof(SpoolStage) == 24);
static_assert(kPlain<SpoolMemory> && sizeof(SpoolMemory) == 72);
static_assert(kPlain<SpoolOverhead> && sizeof(SpoolOverhead) == 40);
static_assert(kPlain<SpoolCounter> && sizeof(SpoolCounter) == 32);
static_assert(kPlain<SpoolAnchor> && sizeof(SpoolAnchor) == 32);
static_assert(kPlain<SpoolMark> && sizeof(SpoolMark) == 32);
static_assert(kPlain<SpoolNote> && sizeof(SpoolNote) == 24);
static_assert(kPlain<SpoolDevice> && sizeof(SpoolDevice) == 48);
static_assert(kPlain<SpoolTotals> && sizeof(SpoolTotals) == 96);
static_assert(sizeof(SpoolMetadata) == 16 && sizeof(SpoolThread) == 16);

/// Bytes that a text of this length takes.
constexpr std::size_t text_bytes(std::size_t length) {
  return sizeof(SpoolText) + (length + 7) / 8 * 8;
}
/// Writes the record of a text to `to`, where text_bytes(length) bytes are free; what it wrote.
inline std::size_t put_text(char* to, std::uint32_t id, const char* text, std::uint32_t length) {
  SpoolText head;
  head.record.bytes = static_cast<std::uint32_t>(text_bytes(length));
  head.id = id;
  head.length = length;
  std::memset(to + head.record.bytes - 8, 0, 8);
  std::memcpy(to, &head, sizeof head);
  if (length != 0) std::memcpy(to + sizeof head, text, length);
  return head.record.bytes;
}

}  // namespace nsa::spool
