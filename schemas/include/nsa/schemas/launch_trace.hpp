// What one launch of a variant really did, seen in a pass apart from the timed ones. Plain values:
// threads may share one that none of them changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/schemas/launch_subject.hpp"

namespace nsa {

/// A kernel of the launch, by name.
struct TracedKernel {
  std::string name;  // demangled
  std::int64_t count = 0;
  std::int64_t total_ns = 0;
  bool operator==(const TracedKernel&) const = default;
};

struct LaunchTrace {
  std::vector<TracedKernel> kernels;  // in the order of their first start
  std::int64_t launches = 0;          // calls that put work on the device; a graph is one
  std::int64_t host_waits = 0;        // calls that waited for the device
  std::int64_t allocations = 0;       // calls that took memory
  std::int64_t host_to_device_bytes = 0, device_to_host_bytes = 0, device_to_device_bytes = 0;
  std::int64_t memset_bytes = 0;
  std::int64_t busy_ns = 0;  // union of its kernels, copies and sets
  std::int64_t span_ns = 0;  // from the first start to the last end of them
  std::int64_t dropped = 0;  // records that the tracer lost: the lists are incomplete then
  std::optional<double> cupti_ns, events_ns;  // medians of some launches, by both timers
  std::string note;                           // where the two disagree; else empty
  bool operator==(const LaunchTrace&) const = default;
};

/// A launch trace and what it belongs to.
struct LaunchTraceRow : LaunchSubject {
  std::string traced_at;  // ISO 8601, UTC
  LaunchTrace trace;
  bool operator==(const LaunchTraceRow&) const = default;
};

}  // namespace nsa
