// What had to happen before what: launches, the order of streams, events, waits of the host and
// collectives. Made so that the times of the recording are what it gives, to the nanosecond.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyse/context.hpp"
#include "analyse/launches.hpp"

namespace nsa::trace {

using Numbers = std::vector<std::uint32_t>;

/// Numbers are into Trace::ops and Trace::calls; kNone = none.
struct PathGraph {
  std::vector<std::uint32_t> stream_before;  // [ops] the one before it in its stream
  std::unordered_map<std::uint32_t, Numbers> events_before;  // of ops: those of other streams
  std::vector<std::uint32_t> collective;  // [ops] into `collectives`; empty where there are none
  std::vector<Numbers> collectives;       // operations that end only after all of them began
  /// [calls] What the host did before: the call before it, on this thread or on the one that
  /// handed over to it; a call around it.
  std::vector<std::uint32_t> call_before;
  std::vector<char> call_is_nested;                      // [calls] in call_before
  std::unordered_map<std::uint32_t, Numbers> waits_for;  // of calls: operations
  /// Of those that wait in a full queue: what such a call takes where it need not.
  std::unordered_map<std::uint32_t, std::int64_t> usual_ns;
  std::int64_t launch_lag_ns = 0;  // from a launch call to the start of what an idle stream runs
  std::string events;              // "recorded", "inferred"; "none": no stream waits for another

  /// Nodes are moments: operation i starts at 2i and ends at 2i + 1; calls follow.
  std::uint32_t first_call_node(const Trace& trace) const {
    return static_cast<std::uint32_t>(2 * trace.ops.size());
  }
};

PathGraph path_graph(const TraceContext& context);

/// The parts, a file each.
void add_stream_order(const TraceContext& context, PathGraph& graph);
void add_host_order(const TraceContext& context, PathGraph& graph);
void add_collective_edges(const TraceContext& context, PathGraph& graph);

/// The operations of each stream of a process by when they were launched.
class LaunchedBefore {
 public:
  explicit LaunchedBefore(const TraceContext& context);
  struct Stream {
    std::uint32_t process = 0;
    std::int32_t device = 0;
    std::int64_t stream = 0;
    Numbers ops;  // in order of launch
  };
  /// The last one that was launched before a moment, and the first at it or later; kNone: none.
  std::uint32_t last(const Stream& stream, std::int64_t at_ns) const;
  std::uint32_t first_from(const Stream& stream, std::int64_t at_ns) const;
  const std::vector<Stream>& of(std::uint32_t process) const;
  std::uint32_t processes() const { return static_cast<std::uint32_t>(of_process_.size()); }

 private:
  Numbers::const_iterator from(const Stream& stream, std::int64_t at_ns) const;
  std::int64_t launched_ns(std::uint32_t op) const {
    return context_.trace.calls[context_.launch[op]].start_ns;
  }

  const TraceContext& context_;
  std::vector<std::vector<Stream>> of_process_;
  std::vector<Stream> none_;
};

void add_event_edges(const TraceContext& context, const LaunchedBefore& launched, PathGraph& graph);
void add_host_waits(const TraceContext& context, const LaunchedBefore& launched, PathGraph& graph);
void add_full_queues(const TraceContext& context, const LaunchedBefore& launched, PathGraph& graph);

}  // namespace nsa::trace
