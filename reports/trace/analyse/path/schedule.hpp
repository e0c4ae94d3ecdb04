// When everything would happen if parts of it took no time.
#pragma once

#include <functional>

#include "graph.hpp"

namespace nsa::trace {

/// What takes no time; empty functions: nothing of that kind.
struct Without {
  std::function<bool(std::uint32_t)> op{};    // an operation
  std::function<bool(std::uint32_t)> call{};  // a call and its waiting
  /// How much of the time of the host before a call.
  std::function<std::int64_t(std::uint32_t)> before_call{};
  bool host_work = false;  // calls that wait for nothing
  bool waiting_for_ranks = false;
};

/// Why an operation began when it did.
struct StartCause {
  enum class Kind : std::uint8_t { none, launch, stream, event } kind = Kind::none;
  std::uint32_t node = kNone;  // that had to come before
  std::int64_t lag_ns = 0;     // after it
};

class Schedule {
 public:
  Schedule(const TraceContext& context, const PathGraph& graph);

  /// The last end of an operation. One question at a time: they share their memory.
  std::int64_t end_ns(const Without& without) const;
  /// As recorded: what was last to let an operation begin.
  StartCause cause_of(std::uint32_t op) const;
  /// As recorded: the operation that a call returned after; kNone: it waited for none.
  std::uint32_t waited_for(std::uint32_t call) const;
  /// Of a collective the operation that began last; kNone: it is none with several ranks.
  std::uint32_t last_to_come(std::uint32_t op) const;
  std::int64_t time_of(std::uint32_t node) const;

 private:
  class Run;
  /// All that an operation waits for before it begins. The latest of them explains all of its
  /// time, the others their least: visit(StartCause).
  template <class Visit>
  void for_each_cause(std::uint32_t op, Visit visit) const;

  /// How long an operation begins after its launch and after the one before it in its stream,
  /// where it waits for these alone: kNone: not for that; kMany: there are more, or long lags.
  struct Lags {
    std::uint32_t launch_ns = kNone, stream_ns = kNone;
  };
  static constexpr std::uint32_t kMany = kNone - 1;
  Lags lags_of(std::uint32_t op) const;
  std::uint32_t launch_node(std::uint32_t op) const {
    return graph_.first_call_node(context_.trace) + 2 * context_.launch[op];
  }
  /// Of the operation before it in its stream: one that still ran had to have begun.
  std::uint32_t stream_node(std::uint32_t op) const {
    const std::uint32_t before = graph_.stream_before[op];
    const auto& ops = context_.trace.ops;
    return 2 * before + (ops[before].end_ns <= ops[op].start_ns ? 1 : 0);
  }

  const TraceContext& context_;
  const PathGraph& graph_;
  std::vector<Lags> lags_;   // [ops], since every question asks for them
  std::vector<char> waits_;  // [calls] whether it is in PathGraph::waits_for
  /// [ops, then calls] Of the question in hand: ends follow from starts.
  mutable std::vector<std::int64_t> starts_;
};

}  // namespace nsa::trace
