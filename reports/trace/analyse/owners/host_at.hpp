// What a thread of the host did at a moment, and from one moment to another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "analyse/context.hpp"
#include "analyse/launches.hpp"

namespace nsa::trace {

enum class HostState : std::uint8_t {
  api,               // in a call of CUDA
  allocation,        // in one that takes or gives back memory
  data_loading,      // in what is called so
  cpu_op,            // in an operator
  annotation,        // in an annotation or NVTX range
  python,            // in a function of Python
  nothing_recorded,  // in none of them
  launch_pending,    // the next operation had been launched
  launch_unknown,    // and nobody knows by whom
  cuda_own,          // CUDA was at work on its own account
  profiler           // the recorder was at work
};
/// "api", "operator", ...: as GapCause::what.
const char* to_string(HostState state);

struct Doing {
  bool operator==(const Doing&) const = default;
  HostState state = HostState::nothing_recorded;
  NameId name = kNoName;  // of the call, range or function; kNoName: of nothing
};

/// The name of what was done as tables show it: steps without their numbers, operators without the
/// numbers that PyTorch gives each call.
std::string name_of(const Trace& trace, const Doing& doing);

/// The events of each thread. A call of CUDA comes before an operator, an operator before a
/// function of Python; of an annotation and a function the inner one counts.
class HostAt {
 public:
  explicit HostAt(const TraceContext& context);

  Doing doing(std::uint32_t thread, std::int64_t at_ns) const;
  /// The innermost range around a moment; kNone = none.
  std::uint32_t range(std::uint32_t thread, std::int64_t at_ns) const;
  /// Calls visit(call, from_ns, until_ns) for each stretch of a thread in one call in which the
  /// host waits, or in none of them (kNone).
  template <class Visit>
  void waits(std::uint32_t thread, std::int64_t from_ns, std::int64_t until_ns, Visit visit) const {
    const std::vector<ApiCall>& all = context_.trace.calls;
    const std::vector<std::uint32_t>& calls = waits_[thread];
    auto next = std::partition_point(calls.begin(), calls.end(),
                                     [&](std::uint32_t i) { return all[i].end_ns <= from_ns; });
    for (; next != calls.end() && all[*next].start_ns < until_ns; ++next) {
      if (from_ns < all[*next].start_ns) visit(kNone, from_ns, all[*next].start_ns);
      from_ns = std::max(from_ns, all[*next].start_ns);
      const std::int64_t end_ns = std::min(until_ns, all[*next].end_ns);
      if (from_ns < end_ns) visit(*next, from_ns, end_ns);
      from_ns = end_ns;
    }
    if (from_ns < until_ns) visit(kNone, from_ns, until_ns);
  }
  /// What a thread does in a call.
  Doing in_call(std::uint32_t call) const;

 private:
  friend class HostLine;
  /// What stands around a moment; kNone = nothing.
  struct Around {
    std::uint32_t call = kNone, range = kNone, python = kNone;
  };
  Doing judge(const Around& around) const;
  Around around(std::uint32_t thread, std::int64_t at_ns) const;
  /// The innermost one around it that loads data.
  std::uint32_t loading_range(std::uint32_t range) const;
  std::uint32_t loading_function(std::uint32_t function) const;

  const TraceContext& context_;
  // [threads], in order of start. A call within another one is part of it; so are waits of waits.
  std::vector<std::vector<std::uint32_t>> calls_, waits_, ranges_, python_;
  std::vector<std::uint32_t> python_parent_;  // [python]
  std::vector<char> loads_;                   // [names] of ranges and functions; empty: none does
};

/// A thread from one moment on; moments only move on.
class HostLine {
 public:
  HostLine(const HostAt& host, std::uint32_t thread, std::int64_t from_ns);

  /// Calls visit(Doing, from_ns, until_ns) for each stretch in which the thread did one thing.
  template <class Visit>
  void walk(std::int64_t from_ns, std::int64_t until_ns, Visit visit) {
    while (from_ns < until_ns) {
      move_to(from_ns);
      const std::int64_t next = std::min(until_ns, next_change(from_ns));
      visit(host_.judge(around_), from_ns, next);
      from_ns = next;
    }
  }

 private:
  void move_to(std::int64_t at_ns);
  std::int64_t next_change(std::int64_t at_ns) const;

  const HostAt& host_;
  const std::vector<std::uint32_t>&calls_, &ranges_, &python_;
  std::size_t next_call_ = 0, next_range_ = 0, next_python_ = 0;
  HostAt::Around around_;
};

}  // namespace nsa::trace
