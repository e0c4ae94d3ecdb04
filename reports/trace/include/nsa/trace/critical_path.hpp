// The chain of work and waits that makes a trace as long as it is, and what it would be without a
// part of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nsa::trace {

/// Time on the path of one kind.
struct PathPart {
  /// kernel, copy, memset, collective, graph: work of a GPU, by its name. launch: from a launch
  /// call to the start of what it launched. between_operations: of one stream, or of two by an
  /// event. host: between two calls, by what the thread did in the middle. api: in a call.
  /// host_wait: from the end of what a call waited for to its return.
  std::string what, name;
  std::int64_t count = 0, total_ns = 0;
};

/// What the trace would be if something took no time.
struct WhatIf {
  /// kernel, copy, collective, host_wait, allocation, host, data_loading, ranks; ranks: nobody
  /// waits for another rank.
  std::string what;
  std::string name;           // of a kernel or call; empty: all of them
  std::int64_t total_ns = 0;  // in them, whether or not on the path
  std::int64_t gain_ns = 0;   // shorter by
  /// Some of it ran beside kernels of another stream on the same device, which it slowed by an
  /// unknown amount: what is won is gain_ns or more.
  bool at_least = false;
};

struct CriticalPath {
  std::int64_t start_ns = 0;    // of the first thing on it, as in the file
  std::int64_t length_ns = 0;   // to the last end of an operation
  std::int64_t steps = 0;       // in the trace, of one process; 0: none known
  std::vector<PathPart> parts;  // which add up to it; largest first
  std::vector<WhatIf> what_if;  // largest gain first
  /// How it is known that a stream waits for another one: recorded, inferred, none.
  std::string events;
};

}  // namespace nsa::trace
