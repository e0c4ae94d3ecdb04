// A trace in memory, whatever wrote it: integer nanoseconds, names interned, events as recorded.
// Readers guarantee: 0 <= duration <= kMaxDurationNs, |time| <= kMaxTimeNs, so that the difference
// of two times fits in 64 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/trace/names.hpp"

namespace nsa::trace {

inline constexpr std::int64_t kMaxTimeNs = 4'000'000'000'000'000'000;  // the year 2096
inline constexpr std::int64_t kMaxDurationNs = std::int64_t{1} << 53;  // 104 days

enum class OpKind : std::uint8_t { kernel, copy, set };

/// Work of a GPU: a kernel, a copy or a memset.
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
  OpKind kind = OpKind::kernel;
};

/// A call of the CUDA (or HIP) runtime or driver.
struct ApiCall {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint64_t correlation = 0;
  NameId name = kNoName;  // without version suffix: cudaLaunchKernel
  std::uint32_t thread = 0;
  std::uint32_t process = 0;
  bool driver = false;
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
};

/// Time that the profiler itself took.
struct Overhead {
  std::int64_t start_ns = 0, end_ns = 0;
};

/// An allocation (bytes > 0) or a release, and the allocator's totals after it.
struct MemoryEvent {
  std::int64_t at_ns = 0, bytes = 0;
  std::uint64_t address = 0;
  std::int64_t allocated_bytes = 0, reserved_bytes = 0;
  std::int32_t device = 0;
};

struct DeviceInfo {
  std::int32_t id = 0;
  std::string name;
};

/// What the file is, and what it can hold.
struct Source {
  std::string path;
  std::string format;        // "chrome_json", "nsys_sqlite"
  std::uint64_t events = 0;  // all of the file, also those that no analysis needs
  std::uint64_t bytes = 0;   // unpacked
  std::optional<std::int64_t> base_time_ns, rank, world_size;
  std::uint64_t untimed_ops = 0;  // GPU operations without a time stamp; they are not in `ops`
  bool holds_overhead = true;     // false: its recorder does not write the profiler's own time
};

struct Trace {
  Source source;
  NamePool names;
  std::vector<GpuOp> ops;
  std::vector<ApiCall> calls;
  std::vector<HostRange> ranges;
  std::vector<Overhead> overheads;
  std::vector<MemoryEvent> memory;
  std::vector<DeviceInfo> devices;
};

}  // namespace nsa::trace
