// Ranges, memory, the tracer's own cost, devices.
#include <cstdlib>
#include <string>

#include "cuda/uuid.hpp"
#include "cupti/convert.hpp"

namespace nsa::probes::cupti {
namespace {

const char* overhead_name(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
      return "Driver Compiler";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "Buffer Flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "Instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "Resource";
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
      return "Runtime Triggered Module Loading";
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
      return "Lazy Function Loading";
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
      return "Command Buffer Full";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      return "Activity Buffer Request";
    case CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT:
      return "UVM Activity Init";
    default:
      return "Unknown";
  }
}

}  // namespace

/// What begins outside of the window is not listed; what began in it ends.
void Converter::put(const CUpti_ActivityMarker2& m, const Keep& keep, RecordSink& sink) {
  const bool ends = (m.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0;
  const std::int64_t at_ns = ns(m.timestamp);
  if (!ends && (at_ns < keep.from_ns || at_ns >= keep.calls_until_ns)) return;
  ++totals_.markers;
  spool::SpoolMarker out;
  out.at_ns = at_ns;
  out.id = m.id;
  out.what = m.flags & CUPTI_ACTIVITY_FLAG_MARKER_START ? spool::MarkerWhat::begin
             : ends                                     ? spool::MarkerWhat::end
                                                        : spool::MarkerWhat::instant;
  out.name = m.name ? sink.text(m.name) : 0;
  out.domain = m.domain ? sink.text(m.domain) : 0;
  out.thread = m.objectId.pt.threadId;
  append(sink, out);
}

void Converter::put(const CUpti_ActivityMemory4& m, RecordSink& sink) {
  const bool releases = m.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  const auto bytes = static_cast<std::int64_t>(m.bytes);
  std::int64_t& allocated = allocated_[m.deviceId];
  allocated += releases ? -bytes : bytes;
  spool::SpoolMemory out;
  out.at_ns = ns(m.timestamp);
  out.bytes = releases ? -bytes : bytes;
  out.address = m.address;
  out.correlation = m.correlationId;
  out.allocated_bytes = allocated;
  out.device = static_cast<std::int32_t>(m.deviceId);
  out.memory_kind = static_cast<std::uint32_t>(m.memoryKind);
  const auto pool = m.memoryPoolConfig.memoryPoolType;
  out.pool = pool == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL ||
             pool == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
  if (pool == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL)
    out.reserved_bytes = static_cast<std::int64_t>(m.memoryPoolConfig.pool.size);
  append(sink, out);
}

void Converter::put(const CUpti_ActivityOverhead3& o, RecordSink& sink) {
  spool::SpoolOverhead out;
  out.start_ns = ns(o.start);
  out.end_ns = ns(o.end);
  out.correlation = o.correlationId;
  out.name = sink.text(overhead_name(o.overheadKind));
  if (o.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) out.thread = o.objectId.pt.threadId;
  append(sink, out);
  std::free(o.overheadData);  // ours to free, where it is set
}

void Converter::put(const CUpti_ActivityDevice5& d, RecordSink& sink) {
  spool::SpoolDevice out;
  out.id = static_cast<std::int32_t>(d.id);
  out.name = sink.text(d.name ? d.name : "");
  out.uuid = sink.text(uuid_text(d.uuid.bytes));
  out.major = static_cast<std::int32_t>(d.computeCapabilityMajor);
  out.minor = static_cast<std::int32_t>(d.computeCapabilityMinor);
  out.sms = static_cast<std::int32_t>(d.numMultiprocessors);
  out.memory_bytes = d.globalMemorySize;
  out.sm_clock_khz = static_cast<std::int32_t>(d.coreClockRate);
  append(sink, out);
}

}  // namespace nsa::probes::cupti
