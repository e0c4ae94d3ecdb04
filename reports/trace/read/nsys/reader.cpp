// SQLite exports of Nsight Systems: one function per kind of table.
#include <array>
#include <unordered_map>

#include "nsa/trace/read.hpp"
#include "read/finish.hpp"
#include "read/kernel_names.hpp"
#include "read/launch_shapes.hpp"
#include "source.hpp"

namespace nsa::trace {
namespace {

constexpr const char* kOverheads = "CUPTI_ACTIVITY_KIND_OVERHEAD";
constexpr std::array kShapeColumns{"gridX",
                                   "gridY",
                                   "gridZ",
                                   "blockX",
                                   "blockY",
                                   "blockZ",
                                   "clusterX",
                                   "clusterY",
                                   "clusterZ",
                                   "registersPerThread",
                                   "staticSharedMemory",
                                   "dynamicSharedMemory"};
constexpr int kPushPopRange = 59, kStartEndRange = 60;  // ENUM_NSYS_EVENT_TYPE

/// ENUM_CUDA_MEMCPY_OPER in the words of the other formats.
std::string copy_name(std::int64_t kind) {
  switch (kind) {
    case 1:
      return "Memcpy HtoD";
    case 2:
      return "Memcpy DtoH";
    case 8:
      return "Memcpy DtoD";
    case 9:
      return "Memcpy HtoH";
    case 10:
      return "Memcpy PtoP";
    default:
      return "Memcpy (kind " + std::to_string(kind) + ")";
  }
}

/// " (Pageable -> Device)" by ENUM_CUDA_MEM_KIND.
std::string between(std::optional<std::int64_t> source, std::optional<std::int64_t> target) {
  static constexpr std::array<const char*, 7> kKinds{
      "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"};
  const auto word = [](std::int64_t kind) {
    const bool known = kind >= 0 && kind < static_cast<std::int64_t>(kKinds.size());
    return known ? kKinds[static_cast<std::size_t>(kind)] : "Unknown";
  };
  if (!source || !target) return {};
  return std::string(" (") + word(*source) + " -> " + word(*target) + ")";
}

class NsysReader {
 public:
  NsysReader(const std::string& path, Trace& trace)
      : source_(path), trace_(trace), shapes_(trace.shapes) {}

  void read() {
    read_ops(kKernels, OpKind::kernel, "demangledName");
    read_ops(kCopies, OpKind::copy, "copyKind");
    read_ops(kSets, OpKind::set, "0");
    read_ops(kGraphs, OpKind::graph, "0");
    if (source_.has(kCalls)) read_calls();
    if (source_.has("NVTX_EVENTS")) read_ranges();
    read_overheads();
    if (source_.has("TARGET_INFO_GPU")) read_devices();
    source_.name_threads(trace_);
    read_session();
    finish(trace_);
  }

 private:
  void read_ops(const char* table, OpKind kind, const std::string& name) {
    if (!source_.has(table)) return;
    const auto optional = [&](const char* column) {
      return ", " + source_.file().or_zero(table, column);
    };
    std::string columns = "start, end, correlationId, deviceId, streamId, globalPid, " + name;
    for (const char* column : {"contextId", "graphNodeId", "graphId", "bytes"})
      columns += optional(column);
    if (kind == OpKind::copy)
      for (const char* column : {"srcKind", "dstKind"}) columns += memory_column(table, column);
    if (kind == OpKind::kernel)
      for (const char* column : kShapeColumns) columns += optional(column);
    SqliteRows rows(source_.file(), table, columns);
    while (rows.next()) {
      const NsysSource::Times t = NsysSource::times(rows);
      GpuOp op{.start_ns = t.start, .end_ns = t.end, .kind = kind};
      op.correlation = static_cast<std::uint64_t>(rows.maybe_integer(2).value_or(0));
      op.device = NsysSource::device(rows, 3);
      op.stream = rows.integer(4);
      op.process = source_.process(rows.maybe_integer(5).value_or(0));
      op.name = op_name(rows, kind);
      op.context = static_cast<std::uint32_t>(rows.integer(7));
      op.graph_node = static_cast<std::uint64_t>(rows.integer(8));
      op.graph = static_cast<std::uint32_t>(rows.integer(9));
      op.bytes = static_cast<std::uint64_t>(rows.integer(10));
      if (kind == OpKind::kernel) op.shape = shape(rows);
      add_op(trace_, op);
      ++trace_.source.events;
    }
  }

  /// Exports of old versions do not say which memory it was.
  std::string memory_column(const char* table, const char* column) {
    return std::string(", ") + (source_.file().has_column(table, column) ? column : "NULL");
  }

  NameId op_name(const SqliteRows& rows, OpKind kind) {
    if (kind == OpKind::copy) {
      const auto memory = [&](int column) { return rows.maybe_integer(column); };
      return trace_.names.intern(copy_name(rows.integer(6)) + between(memory(11), memory(12)));
    }
    if (kind == OpKind::set) return trace_.names.intern("Memset");
    if (kind == OpKind::graph) return trace_.names.intern("CUDA graph");
    const auto [at, added] = kernels_.try_emplace(rows.integer(6), kNoName);
    if (added) at->second = trace_.names.intern(demangled(source_.string(rows, 6)));
    return at->second;
  }

  std::uint32_t shape(const SqliteRows& rows) {
    const auto at = [&](int column) { return static_cast<std::uint32_t>(rows.integer(column)); };
    LaunchShape s;
    for (int i = 0; i < 3; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      s.grid[axis] = at(11 + i);
      s.block[axis] = at(14 + i);
      s.cluster[axis] = at(17 + i);
    }
    s.registers = at(20);
    s.shared_bytes = at(21) + at(22);
    return shapes_.intern(s);
  }

  void read_calls() {
    SqliteRows rows(source_.file(), kCalls, "start, end, correlationId, globalTid, nameId");
    while (rows.next()) {
      const NsysSource::Times t = NsysSource::times(rows);
      ApiCall call{.start_ns = t.start, .end_ns = t.end};
      call.correlation = static_cast<std::uint64_t>(rows.maybe_integer(2).value_or(0));
      const std::int64_t thread = rows.maybe_integer(3).value_or(0);
      call.thread = source_.thread(thread);
      call.process = source_.process(thread);
      const std::string_view name = without_version(source_.string(rows, 4));
      call.name = trace_.names.intern(name);
      call.driver = name.starts_with("cu") && !name.starts_with("cuda");
      trace_.calls.push_back(call);
      ++trace_.source.events;
    }
  }

  void read_ranges() {
    SqliteRows rows(source_.file(), "NVTX_EVENTS",
                    "start, coalesce(end, start), end IS NULL, eventType, text, textId, globalTid, "
                    "coalesce(endGlobalTid, globalTid)");
    while (rows.next()) {
      ++trace_.source.events;
      const std::int64_t type = rows.integer(3);
      if (type != kPushPopRange && type != kStartEndRange) continue;
      const std::int64_t thread = rows.maybe_integer(6).value_or(0);
      const NsysSource::Times t = NsysSource::times(rows);
      const std::string_view name =
          rows.maybe_integer(5) ? std::string_view(source_.string(rows, 5)) : rows.text(4);
      if (rows.maybe_integer(7).value_or(0) != thread) {
        trace_.async_ranges.push_back(
            {t.start, t.end, trace_.names.intern(name), source_.process(thread)});
        continue;
      }
      trace_.ranges.push_back({t.start, t.end, trace_.names.intern(name), source_.thread(thread),
                               source_.process(thread), RangeKind::nvtx, rows.integer(2) != 0});
    }
  }

  void read_overheads() {
    const bool cupti = source_.has(kOverheads), own = source_.has("PROFILER_OVERHEAD");
    trace_.source.holds_overhead = cupti || own;
    for (const char* table : {kOverheads, "PROFILER_OVERHEAD"}) {
      if (!source_.has(table)) continue;
      SqliteRows rows(source_.file(), table,
                      "start, end, nameId, " + source_.file().or_zero(table, "globalTid"));
      while (rows.next()) {
        ++trace_.source.events;
        const NsysSource::Times t = NsysSource::times(rows);
        const std::string_view name =
            rows.maybe_integer(2) ? source_.string(rows, 2) : std::string_view();
        const std::int64_t thread = rows.maybe_integer(3).value_or(0);
        trace_.overheads.push_back({t.start, t.end, trace_.names.intern(name),
                                    thread == 0 ? 0 : source_.process(thread),
                                    is_profiler_overhead(name)});
      }
    }
  }

  void read_devices() {
    SqliteRows rows(source_.file(), "TARGET_INFO_GPU", "id, name");
    while (rows.next())
      trace_.devices.push_back({NsysSource::device(rows, 0), std::string(rows.text(1))});
  }

  /// The first value of a column; 0 where there is none.
  std::int64_t first_of(const char* table, const char* column) {
    if (!source_.has(table)) return 0;
    SqliteRows rows(source_.file(), table, source_.file().or_zero(table, column));
    return rows.next() ? rows.integer(0) : 0;
  }

  /// When the recording began, on its own clock and on that of the world, and on which machine.
  void read_session() {
    const std::int64_t began_utc = first_of("TARGET_INFO_SESSION_START_TIME", "utcEpochNs");
    std::int64_t base = 0;
    if (began_utc > 0 && source_.has("ANALYSIS_DETAILS") &&
        !__builtin_sub_overflow(began_utc, first_of("ANALYSIS_DETAILS", "startTime"), &base))
      trace_.source.base_time_ns = base;
    if (!source_.has("TARGET_INFO_SYSTEM_ENV")) return;
    SqliteRows rows(source_.file(), "TARGET_INFO_SYSTEM_ENV", "name, value");
    while (rows.next())
      if (rows.text(0) == "Hostname")
        for (ProcessInfo& process : trace_.processes)
          process.metadata["host"] = std::string(rows.text(1));
  }

  NsysSource source_;
  Trace& trace_;
  std::unordered_map<std::int64_t, NameId> kernels_;
  LaunchShapes shapes_;
};

}  // namespace

Trace read_nsys_trace(const std::string& path) {
  Trace trace;
  trace.source.path = path;
  trace.source.format = "nsys_sqlite";
  NsysReader(path, trace).read();
  return trace;
}

}  // namespace nsa::trace
