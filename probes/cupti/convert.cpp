// Operations of the device and waits for them.
#include "cupti/convert.hpp"

#include <algorithm>

namespace nsa::probes::cupti {
void Converter::convert(std::uint8_t* buffer, std::size_t valid_bytes, const Keep& keep,
                        RecordSink& sink) {
  CUpti_Activity* record = nullptr;
  while (api_.next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) put(record, keep, sink);
}

void Converter::put(const CUpti_Activity* r, const Keep& keep, RecordSink& sink) {
  switch (r->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return put(*reinterpret_cast<const CUpti_ActivityKernel10*>(r), keep, sink);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return put(*reinterpret_cast<const CUpti_ActivityMemcpy6*>(r), keep, sink);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return put(*reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(r), keep, sink);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return put(*reinterpret_cast<const CUpti_ActivityMemset4*>(r), keep, sink);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return put(*reinterpret_cast<const CUpti_ActivityAPI*>(r), keep, sink);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return put(*reinterpret_cast<const CUpti_ActivitySynchronization2*>(r), keep, sink);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return put(*reinterpret_cast<const CUpti_ActivityCudaEvent2*>(r), sink);
    case CUPTI_ACTIVITY_KIND_MARKER:
      return put(*reinterpret_cast<const CUpti_ActivityMarker2*>(r), keep, sink);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return put(*reinterpret_cast<const CUpti_ActivityMemory4*>(r), sink);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return put(*reinterpret_cast<const CUpti_ActivityOverhead3*>(r), sink);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return put(*reinterpret_cast<const CUpti_ActivityDevice5*>(r), sink);
    default:
      return;
  }
}

template <class Record>
bool Converter::keeps(const Record& record, const Keep& keep, std::uint64_t& counter) {
  last_end_ns_ = std::max(last_end_ns_, ns(record.end));
  unfinished_ += record.end == 0;
  totals_.launches += record.graphNodeId != 0;
  const bool early = record.end != 0 && ns(record.start) < keep.from_ns;
  if (early || record.correlationId < keep.first_correlation ||
      record.correlationId >= keep.end_correlation) {
    ++totals_.outside;
    return false;
  }
  ++counter;
  return true;
}

void Converter::put(const CUpti_ActivityKernel10& k, const Keep& keep, RecordSink& sink) {
  if (k.end == 0) unfinished_kernel_ = sink.text(k.name ? k.name : "");
  if (k.graphNodeId == 0) count_ran(k.correlationId);
  if (!keeps(k, keep, totals_.kernels)) return;
  spool::SpoolKernel out;
  if (k.isDeviceLaunched) out.record.flags = spool::kDeviceLaunched;
  out.start_ns = ns(k.start);
  out.end_ns = ns(k.end);
  out.correlation = k.correlationId;
  out.graph_node = k.graphNodeId;
  out.name = sink.text(k.name ? k.name : "");
  out.device = static_cast<std::int32_t>(k.deviceId);
  out.context = k.contextId;
  out.stream = k.streamId;
  out.graph = k.graphId;
  const std::int32_t grid[] = {k.gridX, k.gridY, k.gridZ}, block[] = {k.blockX, k.blockY, k.blockZ};
  const std::uint32_t cluster[] = {k.clusterX, k.clusterY, k.clusterZ};
  for (int i = 0; i < 3; ++i) {
    out.grid[i] = static_cast<std::uint32_t>(grid[i]);
    out.block[i] = static_cast<std::uint32_t>(block[i]);
    out.cluster[i] = cluster[i];
  }
  out.registers = k.registersPerThread;
  out.static_shared = static_cast<std::uint32_t>(k.staticSharedMemory);
  out.dynamic_shared = static_cast<std::uint32_t>(k.dynamicSharedMemory);
  out.channel = k.channelID;
  append(sink, out);
}

namespace {

/// What copies within a device and copies between two have in common.
template <class Copy>
spool::SpoolCopy copy_of(const Copy& c) {
  spool::SpoolCopy out;
  if (c.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) out.record.flags = spool::kAsync;
  out.start_ns = ns(c.start);
  out.end_ns = ns(c.end);
  out.correlation = c.correlationId;
  out.graph_node = c.graphNodeId;
  out.bytes = c.bytes;
  out.context = c.contextId;
  out.stream = c.streamId;
  out.graph = c.graphId;
  out.copy_kind = c.copyKind;
  out.source_kind = c.srcKind;
  out.target_kind = c.dstKind;
  return out;
}

}  // namespace

void Converter::put(const CUpti_ActivityMemcpy6& c, const Keep& keep, RecordSink& sink) {
  totals_.launches += c.graphNodeId == 0;
  if (!keeps(c, keep, totals_.copies)) return;
  spool::SpoolCopy out = copy_of(c);
  out.device = static_cast<std::int32_t>(c.deviceId);
  append(sink, out);
}

void Converter::put(const CUpti_ActivityMemcpyPtoP4& c, const Keep& keep, RecordSink& sink) {
  totals_.launches += c.graphNodeId == 0;
  if (!keeps(c, keep, totals_.copies)) return;
  spool::SpoolCopy out = copy_of(c);
  out.device = static_cast<std::int32_t>(c.srcDeviceId);
  out.peer_device = static_cast<std::int32_t>(c.dstDeviceId);
  append(sink, out);
}

void Converter::put(const CUpti_ActivityMemset4& s, const Keep& keep, RecordSink& sink) {
  totals_.launches += s.graphNodeId == 0;
  if (!keeps(s, keep, totals_.sets)) return;
  spool::SpoolSet out;
  out.start_ns = ns(s.start);
  out.end_ns = ns(s.end);
  out.correlation = s.correlationId;
  out.graph_node = s.graphNodeId;
  out.bytes = s.bytes;
  out.device = static_cast<std::int32_t>(s.deviceId);
  out.context = s.contextId;
  out.stream = s.streamId;
  out.graph = s.graphId;
  out.value = s.value;
  out.memory_kind = s.memoryKind;
  append(sink, out);
}

void Converter::put(const CUpti_ActivitySynchronization2& s, const Keep& keep, RecordSink& sink) {
  if (ns(s.start) < keep.from_ns || ns(s.start) >= keep.calls_until_ns) return;
  spool::SpoolSync out;
  out.start_ns = ns(s.start);
  out.end_ns = ns(s.end);
  out.correlation = s.correlationId;
  out.type = static_cast<std::uint32_t>(s.type);
  out.context = s.contextId;
  out.stream = s.streamId;
  out.event = s.cudaEventId;
  out.event_sync = static_cast<std::uint32_t>(s.cudaEventSyncId);
  append(sink, out);
}

/// Without a time of its own; what was recorded before a window may be waited for in it.
void Converter::put(const CUpti_ActivityCudaEvent2& e, RecordSink& sink) {
  spool::SpoolEvent out;
  out.correlation = e.correlationId;
  out.sync = static_cast<std::uint32_t>(e.cudaEventSyncId);
  out.context = e.contextId;
  out.stream = e.streamId;
  out.device = static_cast<std::int32_t>(e.deviceId);
  append(sink, out);
}

}  // namespace nsa::probes::cupti
