// Which operations of several ranks are one collective.
#pragma once

#include <cstdint>
#include <vector>

#include "calls.hpp"

namespace nsa::trace {

struct Matched {
  /// Numbers of calls, one of each device that takes part; alone: {call}.
  std::vector<std::vector<std::uint32_t>> collectives;
  /// Calls of groups of several devices that could not be told to be the same.
  std::int64_t unmatched = 0;
};

/// By the number that the program gave them, else by their place among those of their group and
/// kind, else (one time line) by when they ran. What matches by its place has to run at the same
/// time on all devices where waiting makes it so; if it does not, nothing of that kind is matched.
Matched match(const CommCalls& calls, bool one_time_line);

}  // namespace nsa::trace
