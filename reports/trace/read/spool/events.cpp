// Records of work: of the GPU, of the host, and readings.
#include <algorithm>

#include "nsa/trace/range_names.hpp"
#include "read/finish.hpp"
#include "read/kernel_names.hpp"
#include "sink.hpp"

namespace nsa::trace {

using namespace spool;
using Form = SpoolTexts::Form;

/// Times of a span, checked; nothing to check where the GPU gave none.
template <class Record>
void SpoolSink::check(const Record& record) {
  const std::int64_t start = record.start_ns, end = record.end_ns;
  if (start > kMaxTimeNs || start < -kMaxTimeNs || end > kMaxTimeNs || end < -kMaxTimeNs)
    cursor_.fail("a time that is out of range");
  if (end < start) cursor_.fail("an end before its start");
  if (end - start > kMaxDurationNs) cursor_.fail("longer than 104 days");
  last_ns_ = std::max(last_ns_, end);
}

std::int64_t SpoolSink::checked_time(std::int64_t at_ns) {
  if (at_ns > kMaxTimeNs || at_ns < -kMaxTimeNs) cursor_.fail("a time that is out of range");
  last_ns_ = std::max(last_ns_, at_ns);
  return at_ns;
}

template <class Record>
GpuOp SpoolSink::op_of(const Record& record, OpKind kind) {
  check(record);
  ++recorded_;
  GpuOp op{.start_ns = record.start_ns, .end_ns = record.end_ns, .kind = kind};
  op.correlation = record.correlation;
  op.stream = record.stream;
  op.device = record.device;
  op.graph = record.graph;
  op.graph_node = record.graph_node;
  op.context = record.context;
  return op;
}

void SpoolSink::add_kernel(const SpoolKernel& k) {
  GpuOp op = op_of(k, OpKind::kernel);
  op.name = texts_.name(k.name, Form::kernel, cursor_, trace_.names);
  LaunchShape shape;
  std::copy_n(k.grid, 3, shape.grid.begin());
  std::copy_n(k.block, 3, shape.block.begin());
  std::copy_n(k.cluster, 3, shape.cluster.begin());
  shape.registers = k.registers;
  shape.shared_bytes = k.static_shared + k.dynamic_shared;
  op.shape = shapes_.intern(shape);
  add_op(trace_, op);
}

void SpoolSink::add_copy(const SpoolCopy& copy) {
  GpuOp op = op_of(copy, OpKind::copy);
  op.name = trace_.names.intern(copy_name(copy));
  op.bytes = copy.bytes;
  add_op(trace_, op);
}

void SpoolSink::add_set(const SpoolSet& set) {
  GpuOp op = op_of(set, OpKind::set);
  op.name = trace_.names.intern(set_name(set));
  op.bytes = set.bytes;
  add_op(trace_, op);
}

void SpoolSink::add_call(const SpoolApi& api) {
  check(api);
  ApiCall call{.start_ns = api.start_ns, .end_ns = api.end_ns, .correlation = api.correlation};
  call.name = texts_.name(api.name, Form::api, cursor_, trace_.names);
  call.thread = thread(api.thread);
  call.driver = (api.record.flags & kDriver) != 0;
  trace_.calls.push_back(call);
}

void SpoolSink::add_marker(const SpoolMarker& marker) {
  checked_time(marker.at_ns);
  if (marker.domain != 0 && texts_.text(marker.domain, cursor_) == kHookDomain)
    if (const auto module = module_of_range(texts_.text(marker.name, cursor_)); !module.empty())
      modules_.emplace(module);
  markers_.add(marker, texts_.name(marker.name, Form::as_is, cursor_, trace_.names),
               thread(marker.thread));
}

void SpoolSink::add_message(const SpoolMessage& message) {
  checked_time(message.at_ns);
  markers_.add(message, texts_.name(message.name, Form::as_is, cursor_, trace_.names),
               thread(message.thread));
}

void SpoolSink::add_gpu_range(const SpoolGpuRange& record) {
  check(record);
  if (record.device < 0) cursor_.fail("a device id that is out of range");
  GpuRange range{.start_ns = record.start_ns, .end_ns = record.end_ns};
  range.name = texts_.name(record.name, Form::as_is, cursor_, trace_.names);
  range.device = record.device;
  trace_.gpu_ranges.push_back(range);
}

void SpoolSink::add_sync(const SpoolSync& record) {
  check(record);
  Sync sync{.start_ns = record.start_ns, .end_ns = record.end_ns};
  sync.correlation = record.correlation;
  sync.stream = record.stream == UINT32_MAX ? -1 : std::int64_t{record.stream};
  sync.name = trace_.names.intern(sync_name(record.type));
  sync.device = std::max(record.device, 0);
  if (record.event_sync != 0) event_of_sync_.emplace_back(trace_.syncs.size(), record.event_sync);
  trace_.syncs.push_back(sync);
}

void SpoolSink::add_event(const SpoolEvent& event) { events_.insert_or_assign(event.sync, event); }

/// Waits for events, with where and when these were recorded.
void SpoolSink::put_events() {
  for (const auto& [sync, number] : event_of_sync_) {
    const auto event = events_.find(number);
    if (event == events_.end()) continue;  // recorded before we did
    trace_.syncs[sync].wait_on_stream = event->second.stream;
    trace_.syncs[sync].event_record = event->second.correlation;
    trace_.syncs[sync].device = std::max(event->second.device, 0);
  }
}

/// Memory of the GPU: CUPTI's kinds 3 (device) to 7, and what does not say.
void SpoolSink::add_memory(const SpoolMemory& record) {
  if (record.memory_kind == 1 || record.memory_kind == 2) return;  // of the host
  MemoryEvent m{.at_ns = checked_time(record.at_ns), .bytes = record.bytes};
  m.address = record.address;
  m.allocated_bytes = record.allocated_bytes;
  m.reserved_bytes = record.reserved_bytes;
  m.device = record.device;
  trace_.memory.push_back(m);
}

void SpoolSink::add_overhead(const SpoolOverhead& record) {
  check(record);
  const NameId name = texts_.name(record.name, Form::as_is, cursor_, trace_.names);
  trace_.overheads.push_back({record.start_ns, record.end_ns, name, 0,
                              is_profiler_overhead(texts_.text(record.name, cursor_))});
}

void SpoolSink::add_counter(const SpoolCounter& record) {
  trace_.counters.push_back({checked_time(record.at_ns), record.value,
                             texts_.name(record.name, Form::as_is, cursor_, trace_.names), 0,
                             record.device});
}

void SpoolSink::add_mark(const SpoolMark& mark) {
  if (mark.what == MarkWhat::step) {  // the range of that name says from when to when
    step_names_.insert(name_of_steps(texts_.text(mark.name, cursor_)));
    return;
  }
  const bool begin = mark.what == MarkWhat::window_begin;
  trace_.instants.push_back(
      {checked_time(mark.at_ns),
       trace_.names.intern(begin ? "Record Window Begin" : "Record Window End"),
       thread(cursor_.header().process), 0});
}

/// One whose caller was lost (a disk that was full) is an outermost one.
void SpoolSink::add_python_frame(const SpoolPythonFrame& record) {
  const auto caller = frames_.find(record.caller);
  const auto number = static_cast<std::uint32_t>(trace_.python_frames.size());
  trace_.python_frames.push_back({texts_.name(record.function, Form::as_is, cursor_, trace_.names),
                                  texts_.name(record.file, Form::as_is, cursor_, trace_.names),
                                  record.line, caller == frames_.end() ? 0 : caller->second});
  frames_[record.id] = number;
}

void SpoolSink::add_python_sample(const SpoolPythonSample& record) {
  const auto frame = frames_.find(record.frame);
  if (frame == frames_.end()) return;  // lost
  const PythonSample sample{checked_time(record.at_ns),
                            record.period_ns,
                            record.count,
                            frame->second,
                            thread(record.thread),
                            0};
  if (!is_sound(sample)) cursor_.fail("a sample whose moments are out of range");
  trace_.python_samples.push_back(sample);
}

/// Totals that the tracer left to us.
void SpoolSink::count_memory() {
  std::unordered_map<std::int32_t, std::int64_t> allocated;
  for (MemoryEvent& m : trace_.memory) {
    std::int64_t& sum = allocated[m.device];
    if (__builtin_add_overflow(sum, m.bytes, &sum)) sum = 0;
    if (m.allocated_bytes < 0) m.allocated_bytes = sum;
    if (m.reserved_bytes < 0) m.reserved_bytes = m.allocated_bytes;
  }
}

}  // namespace nsa::trace
