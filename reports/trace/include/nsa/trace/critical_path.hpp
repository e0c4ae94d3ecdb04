// The chain of work and waits that makes a trace as long as it is, and what it would be without a
// part of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/trace/python_lines.hpp"

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

/// What is asked, and what a text calls all of its kind.
struct WhatIfKind {
  std::string_view what, words;
};
/// The one list: a question that is not on it does not compile, and texts and the page take their
/// words from it.
inline constexpr std::array kWhatIfKinds{
    WhatIfKind{"kernel", "kernels"},
    WhatIfKind{"copy", "all copies other than communication"},
    WhatIfKind{"host_copy", "copies between host and device"},
    WhatIfKind{"collective", "all communication"},
    WhatIfKind{"ranks", "waiting for other ranks"},
    WhatIfKind{"host_wait", "all waits of the host"},
    WhatIfKind{"allocation", "allocating and releasing memory"},
    WhatIfKind{"other_wait", "all waits of the host but allocations"},
    WhatIfKind{"host", "everything that the host does but wait"},
    WhatIfKind{"data_loading", "loading of data"},
    WhatIfKind{"python_line", "what the host does at lines of Python"}};

/// What the trace would be if something took no time.
struct WhatIf {
  std::string what;           // of kWhatIfKinds
  std::string name;           // of a kernel, call or line; empty: all of them
  std::int64_t total_ns = 0;  // in them, whether or not on the path
  std::int64_t gain_ns = 0;   // shorter by
  /// What is won is gain_ns or more. Some of it ran beside kernels of another stream on the same
  /// device, which it slowed by an unknown amount; or samples say when it was, which miss what is
  /// short.
  bool at_least = false;
};

struct CriticalPath {
  std::int64_t start_ns = 0;    // of the first thing on it, as in the file
  std::int64_t length_ns = 0;   // to the last end of an operation
  std::int64_t steps = 0;       // in the trace, of one process; 0: none known
  std::vector<PathPart> parts;  // which add up to it; largest first
  std::vector<WhatIf> what_if;  // largest gain first
  /// Samples of Python's stack in what the host does on the path, between two calls or in one, and
  /// the lines with most of them.
  std::int64_t samples = 0;
  std::vector<PythonLine> lines = {};
  /// How it is known that a stream waits for another one: recorded, inferred, none.
  std::string events;
};

}  // namespace nsa::trace
