// What a spool says of its process, and which record goes where.
#include "reader.hpp"

#include "nsa/trace/range_names.hpp"
#include "read/finish.hpp"
#include "read/kernel_names.hpp"
#include "sink.hpp"

namespace nsa::trace {

using namespace spool;
using Form = SpoolTexts::Form;

void SpoolSink::read_header() {
  const SpoolHeader& header = cursor_.header();
  trace_.processes.emplace_back();
  process().metadata["clock"] = "CLOCK_MONOTONIC";
  process().pid = std::to_string(header.process);
  if (header.rank >= 0) process().rank = trace_.source.rank = header.rank;
  if (header.world_size >= 0) process().world_size = trace_.source.world_size = header.world_size;
  std::int64_t base = 0;
  if (!__builtin_sub_overflow(header.start_realtime_ns, header.start_ns, &base))
    trace_.source.base_time_ns = base;
}

void SpoolSink::read_record() {
  ++trace_.source.events;
  switch (cursor_.kind()) {
    case Kind::kernel:
      return add_kernel(cursor_.get<SpoolKernel>());
    case Kind::copy:
      return add_copy(cursor_.get<SpoolCopy>());
    case Kind::set:
      return add_set(cursor_.get<SpoolSet>());
    case Kind::api:
      return add_call(cursor_.get<SpoolApi>());
    case Kind::marker:
      return add_marker(cursor_.get<SpoolMarker>());
    default:
      --trace_.source.events;
      return read_rare();
  }
}

void SpoolSink::read_rare() {
  switch (cursor_.kind()) {
    case Kind::sync:
      return add_sync(cursor_.get<SpoolSync>());
    case Kind::event:
      return add_event(cursor_.get<SpoolEvent>());
    case Kind::stage:
      return add_stage(cursor_.get<SpoolStage>());
    case Kind::message:
      return add_message(cursor_.get<SpoolMessage>());
    case Kind::gpu_range:
      return add_gpu_range(cursor_.get<SpoolGpuRange>());
    case Kind::memory:
      return add_memory(cursor_.get<SpoolMemory>());
    case Kind::overhead:
      return add_overhead(cursor_.get<SpoolOverhead>());
    case Kind::counter:
      return add_counter(cursor_.get<SpoolCounter>());
    case Kind::mark:
      return add_mark(cursor_.get<SpoolMark>());
    case Kind::python_frame:
      return add_python_frame(cursor_.get<SpoolPythonFrame>());
    case Kind::python_sample:
      return add_python_sample(cursor_.get<SpoolPythonSample>());
    case Kind::metadata:
      return add_metadata(cursor_.get<SpoolMetadata>());
    case Kind::device:
      return add_device(cursor_.get<SpoolDevice>());
    case Kind::thread:
      return add_thread(cursor_.get<SpoolThread>());
    case Kind::anchor:
      return add_anchor(cursor_.get<SpoolAnchor>());
    case Kind::note:
      return add_note(cursor_.get<SpoolNote>());
    case Kind::totals:
      totals_ = cursor_.get<SpoolTotals>();
      return;
    default:
      return;  // texts are read already; kinds of later versions pass
  }
}

void SpoolSink::add_stage(const SpoolStage& stage) {
  const NameId name = texts_.name(stage.stage, Form::as_is, cursor_, trace_.names);
  (stage.of == StageOf::graph_node ? by_node_ : by_correlation_)[stage.id] = name;
}

void SpoolSink::add_metadata(const SpoolMetadata& record) {
  process().metadata[std::string(texts_.text(record.key, cursor_))] =
      texts_.text(record.value, cursor_);
}

void SpoolSink::add_device(const SpoolDevice& record) {
  if (record.id < 0) cursor_.fail("a device id that is out of range");
  for (const DeviceInfo& known : trace_.devices)
    if (known.id == record.id) return;
  trace_.devices.push_back({record.id, std::string(texts_.text(record.name, cursor_))});
}

void SpoolSink::add_thread(const SpoolThread& record) {
  trace_.threads[thread(record.thread)].name = texts_.text(record.name, cursor_);
}

void SpoolSink::add_note(const SpoolNote& record) {
  process().notes.push_back(
      {note_name(record.what), demangled_words(texts_.text(record.text, cursor_))});
}

/// Both clocks at the start and the end tell how far they drifted apart.
void SpoolSink::add_anchor(const SpoolAnchor& record) {
  std::int64_t offset = 0;
  if (__builtin_sub_overflow(record.realtime_ns, record.monotonic_ns, &offset)) return;
  auto& metadata = process().metadata;
  metadata.try_emplace("clock.realtime_offset_first_ns", std::to_string(offset));
  metadata["clock.realtime_offset_last_ns"] = std::to_string(offset);
}

std::uint32_t SpoolSink::thread(std::uint32_t tid) {
  const auto next = static_cast<std::uint32_t>(trace_.threads.size());
  const auto [at, added] = threads_.try_emplace(tid, next);
  if (added) trace_.threads.push_back({process().pid, std::to_string(tid), {}});
  return at->second;
}

void SpoolSink::put_stages() {
  if (by_node_.empty() && by_correlation_.empty()) return;
  const auto put = [](const auto& stages, std::uint64_t id, NameId& stage) {
    const auto at = id == 0 ? stages.end() : stages.find(id);
    if (at != stages.end()) stage = at->second;
  };
  for (GpuOp& op : trace_.ops) {
    put(by_correlation_, op.correlation, op.stage);
    put(by_node_, op.graph_node, op.stage);
  }
}

void SpoolSink::put_names() {
  const auto put = [&](const char* key, const std::set<std::string>& names) {
    std::string lines;
    for (const std::string& name : names) lines += (lines.empty() ? "" : "\n") + name;
    if (!names.empty()) process().metadata[key] = lines;
  };
  put(kStepsRecorded, step_names_);
  put(kModulesRecorded, modules_);
}

void SpoolSink::finish_totals() {
  Totals totals;
  totals.complete =
      totals_ && (totals_->record.flags & kSpoolFinal) != 0 && cursor_.torn_bytes() == 0;
  totals.recorded = recorded_;
  totals.torn_bytes = cursor_.torn_bytes();
  if (totals_) {
    if (totals_->launches != kNotCounted) totals.launches = totals_->launches;
    totals.dropped = totals_->dropped;
    totals.lost = totals_->lost;
    totals.outside = totals_->outside;
  }
  process().totals = totals;
}

void SpoolSink::read() {
  read_header();
  while (cursor_.next()) read_record();
  markers_.finish(last_ns_);
  put_stages();
  put_events();
  put_names();
  finish_totals();
  finish(trace_);
  count_memory();
}

Trace read_spool(std::string_view bytes, const std::string& where) {
  Trace trace;
  trace.source.path = where;
  trace.source.format = "spool";
  trace.source.bytes = bytes.size();
  SpoolSink(bytes, where, trace).read();
  return trace;
}

}  // namespace nsa::trace
