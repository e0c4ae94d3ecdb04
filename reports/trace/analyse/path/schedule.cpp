#include "schedule.hpp"

#include <algorithm>

namespace nsa::trace {

std::int64_t Schedule::time_of(std::uint32_t node) const {
  const Trace& trace = context_.trace;
  const std::uint32_t calls = graph_.first_call_node(trace);
  if (node < calls) {
    const GpuOp& op = trace.ops[node / 2];
    return node % 2 == 0 ? op.start_ns : op.end_ns;
  }
  const ApiCall& call = trace.calls[(node - calls) / 2];
  return node % 2 == 0 ? call.start_ns : call.end_ns;
}

template <class Visit>
void Schedule::for_each_cause(std::uint32_t op, Visit visit) const {
  using Kind = StartCause::Kind;
  const Trace& trace = context_.trace;
  const std::int64_t start = trace.ops[op].start_ns;
  StartCause latest;
  std::int64_t latest_ns = -kMaxTimeNs;
  const auto consider = [&](Kind kind, std::uint32_t node, std::int64_t least_lag, bool pass) {
    const std::int64_t lag = std::min(least_lag, start - time_of(node));
    if (lag < 0) return;  // clocks that disagree
    const StartCause cause{kind, node, lag};
    if (pass) {
      if (cause.node != latest.node) visit(cause);
    } else if (time_of(node) + lag > latest_ns) {
      latest_ns = time_of(node) + lag;
      latest = {kind, node, start - time_of(node)};
    }
  };
  const auto all = [&](bool pass) {
    if (context_.launch[op] != kNone)
      consider(Kind::launch, launch_node(op), graph_.launch_lag_ns, pass);
    if (graph_.stream_before[op] != kNone) consider(Kind::stream, stream_node(op), 0, pass);
    const auto events = graph_.events_before.find(op);
    if (events == graph_.events_before.end()) return;
    for (const std::uint32_t other : events->second) consider(Kind::event, 2 * other + 1, 0, pass);
  };
  all(false);
  if (latest.kind == Kind::none) return;
  visit(latest);
  all(true);
}

Schedule::Lags Schedule::lags_of(std::uint32_t op) const {
  Lags out;
  bool fits = !graph_.events_before.contains(op);
  if (fits)
    for_each_cause(op, [&](const StartCause& cause) {
      (cause.kind == StartCause::Kind::launch ? out.launch_ns : out.stream_ns) =
          static_cast<std::uint32_t>(cause.lag_ns);
      fits &= cause.lag_ns < kMany;
    });
  if (!fits) out.launch_ns = kMany;
  return out;
}

Schedule::Schedule(const TraceContext& context, const PathGraph& graph)
    : context_(context), graph_(graph), waits_(context.trace.calls.size(), 0) {
  lags_.reserve(context.trace.ops.size());
  for (std::uint32_t op = 0; op < context.trace.ops.size(); ++op) lags_.push_back(lags_of(op));
  for (const auto& [call, ops] : graph.waits_for) waits_[call] = 1;
}

StartCause Schedule::cause_of(std::uint32_t op) const {
  StartCause first;
  for_each_cause(op, [&](const StartCause& cause) {
    if (first.kind == StartCause::Kind::none) first = cause;
  });
  return first;
}

std::uint32_t Schedule::waited_for(std::uint32_t call) const {
  const auto waits = graph_.waits_for.find(call);
  if (waits == graph_.waits_for.end()) return kNone;
  std::uint32_t latest = kNone;
  for (const std::uint32_t op : waits->second)
    if (latest == kNone || context_.trace.ops[op].end_ns > context_.trace.ops[latest].end_ns)
      latest = op;
  const bool before = context_.trace.ops[latest].end_ns <= context_.trace.calls[call].start_ns;
  return before ? kNone : latest;
}

std::uint32_t Schedule::last_to_come(std::uint32_t op) const {
  if (graph_.collectives.empty()) return kNone;
  const std::uint32_t number = graph_.collective[op];
  if (number == kNone) return kNone;
  std::uint32_t last = op;
  for (const std::uint32_t other : graph_.collectives[number])
    if (context_.trace.ops[other].start_ns > context_.trace.ops[last].start_ns) last = other;
  return last;
}

/// One pass over all operations and calls in the order of their recorded starts, which no change
/// turns around. Ends are worked out where they are asked for: to keep them, and the order of all
/// moments, took more memory than the calls themselves.
class Schedule::Run {
 public:
  Run(const Schedule& of, const Without& without)
      : of_(of),
        graph_(of.graph_),
        trace_(of.context_.trace),
        without_(without),
        calls_(graph_.first_call_node(trace_)),
        starts_(of.starts_) {
    starts_.resize(trace_.ops.size() + trace_.calls.size());
  }

  std::int64_t end_ns() {
    const auto& ops = trace_.ops;
    const auto& calls = trace_.calls;
    const auto count = static_cast<std::uint32_t>(ops.size());
    std::uint32_t call = 0;
    for (std::uint32_t op = 0; op < count; ++op) {
      for (; call < calls.size() && calls[call].start_ns <= ops[op].start_ns; ++call)
        starts_[count + call] = start_of_call(call);
      starts_[op] = start_of_op(op);
    }
    std::int64_t last = -kMaxTimeNs;
    for (std::uint32_t op = 0; op < count; ++op) last = std::max(last, end_of_op(op));
    return last;
  }

 private:
  bool gone(const std::function<bool(std::uint32_t)>& what, std::uint32_t number) const {
    return what && what(number);
  }

  std::int64_t at(std::uint32_t node) const {
    if (node % 2 == 0) return starts_[node / 2];
    return node < calls_ ? end_of_op(node / 2) : end_of_call((node - calls_) / 2);
  }

  std::int64_t start_of_op(std::uint32_t op) const {
    const Lags& lags = of_.lags_[op];
    if (lags.launch_ns == kMany) return behind_all(op);
    std::int64_t start = -kMaxTimeNs;
    if (lags.launch_ns != kNone) start = at(of_.launch_node(op)) + lags.launch_ns;
    if (lags.stream_ns != kNone) start = std::max(start, at(of_.stream_node(op)) + lags.stream_ns);
    return start == -kMaxTimeNs ? trace_.ops[op].start_ns : start;
  }

  std::int64_t behind_all(std::uint32_t op) const {
    std::int64_t start = -kMaxTimeNs;
    of_.for_each_cause(op, [&](const StartCause& cause) {
      start = std::max(start, at(cause.node) + cause.lag_ns);
    });
    return start == -kMaxTimeNs ? trace_.ops[op].start_ns : start;
  }

  std::int64_t end_of_op(std::uint32_t op) const {
    const std::int64_t start = starts_[op];
    if (gone(without_.op, op)) return start;
    const std::uint32_t last = of_.last_to_come(op);
    if (last == kNone) return start + trace_.ops[op].end_ns - trace_.ops[op].start_ns;
    const std::int64_t transfer = trace_.ops[op].end_ns - trace_.ops[last].start_ns;
    if (without_.waiting_for_ranks) return start + transfer;
    std::int64_t all_there = start;
    for (const std::uint32_t other : graph_.collectives[graph_.collective[op]])
      all_there = std::max(all_there, starts_[other]);
    return all_there + transfer;
  }

  std::int64_t start_of_call(std::uint32_t call) const {
    const std::uint32_t before = graph_.call_before[call];
    if (before == kNone) return trace_.calls[call].start_ns;
    const std::uint32_t from = calls_ + 2 * before + (graph_.call_is_nested[call] != 0 ? 0 : 1);
    const std::int64_t gap = trace_.calls[call].start_ns - of_.time_of(from);
    const std::int64_t less = without_.before_call ? without_.before_call(call) : 0;
    return at(from) + std::max<std::int64_t>(0, gap - less);
  }

  std::int64_t end_of_call(std::uint32_t call) const {
    const std::int64_t start = starts_[trace_.ops.size() + call];
    if (gone(without_.call, call)) return start;
    const std::int64_t duration = trace_.calls[call].end_ns - trace_.calls[call].start_ns;
    if (of_.waits_[call] == 0) return start + (works_only(call) ? 0 : duration);
    const auto waits = graph_.waits_for.find(call);
    const std::uint32_t last = of_.waited_for(call);
    const std::int64_t behind =
        last == kNone ? 0 : trace_.calls[call].end_ns - trace_.ops[last].end_ns;
    const auto usual = graph_.usual_ns.find(call);
    const std::int64_t own =
        usual == graph_.usual_ns.end() ? behind : std::max(behind, usual->second);
    std::int64_t end = start + (last == kNone ? duration : std::min(duration, own));
    for (const std::uint32_t op : waits->second) end = std::max(end, end_of_op(op) + behind);
    return end;
  }

  /// A call that waits for nothing is the host's own work.
  bool works_only(std::uint32_t call) const {
    return without_.host_work && of_.context_.wait[call] == WaitKind::none;
  }

  const Schedule& of_;
  const PathGraph& graph_;
  const Trace& trace_;
  const Without& without_;
  std::uint32_t calls_;
  std::vector<std::int64_t>& starts_;
};

std::int64_t Schedule::end_ns(const Without& without) const { return Run(*this, without).end_ns(); }

}  // namespace nsa::trace
