#include "gaps.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analyse/launches.hpp"
#include "analyse/owners/python_lines.hpp"

namespace nsa::trace {
namespace {

/// Of all processes that share a device.
IntervalSet of_processes(const TraceContext& context, const OpIndices& ops,
                         const std::vector<IntervalSet>& by_process) {
  std::set<std::uint32_t> processes;
  for (const std::uint32_t i : ops) processes.insert(context.trace.ops[i].process);
  std::vector<Interval> all;
  for (const std::uint32_t p : processes)
    if (p < by_process.size()) all.insert(all.end(), by_process[p].begin(), by_process[p].end());
  return union_of(std::move(all));
}

/// Calls inside(from_ns, until_ns) for what of a stretch is in `set`, and outside(...) for the
/// rest.
template <class Inside, class Outside>
void cut(const IntervalSet& set, std::int64_t from_ns, std::int64_t until_ns, Inside inside,
         Outside outside) {
  auto next = std::partition_point(set.begin(), set.end(),
                                   [&](const Interval& i) { return i.end <= from_ns; });
  for (; next != set.end() && next->begin < until_ns; ++next) {
    if (from_ns < next->begin) outside(from_ns, next->begin);
    from_ns = std::max(from_ns, next->begin);
    const std::int64_t end_ns = std::min(until_ns, next->end);
    inside(from_ns, end_ns);
    from_ns = end_ns;
  }
  if (from_ns < until_ns) outside(from_ns, until_ns);
}

/// The gaps of one device.
class DeviceGaps {
 public:
  DeviceGaps(const TraceContext& context, const OpIndices& ops)
      : context_(context),
        trace_(context.trace),
        profiler_(of_processes(context, ops, context.overheads)),
        own_(trace_.calls.empty() ? IntervalSet() : of_processes(context, ops, context.own)) {}

  /// `before`: the operation whose end begins the gap; `launched`: the first to end it whose launch
  /// is known, else `op`.
  const IdleGap& gap(std::uint32_t before, std::uint32_t op, std::uint32_t launched) {
    gap_.start_ns = trace_.ops[before].end_ns;
    gap_.op = op;
    gap_.parts.clear();
    gap_.pieces.clear();
    const std::int64_t end_ns = trace_.ops[op].start_ns;
    const std::uint32_t launch = context_.launch[launched];
    const auto rest = [&](std::int64_t from, std::int64_t until) {
      if (launch == kNone) return of_unknown(from, until);
      const ApiCall& call = trace_.calls[launch];
      const std::int64_t at = std::clamp(call.start_ns, from, until);
      before_launch(call.thread, context_.launch[before], from, at);
      pending(call.thread, at, until);
    };
    cut(profiler_, gap_.start_ns, end_ns, adds(IdleClass::profiler_overhead, HostState::profiler),
        rest);
    return gap_;
  }

 private:
  void add(IdleClass cause, const Doing& doing, std::int64_t from, std::int64_t until) {
    const std::int64_t ns = until - from;
    if (context_.lines->any()) gap_.pieces.push_back({cause, doing, from, until});
    const auto known = std::find_if(
        gap_.parts.begin(), gap_.parts.end(),
        [&](const IdlePart& part) { return part.cause == cause && part.doing == doing; });
    if (known == gap_.parts.end()) {
      gap_.parts.push_back({cause, doing, ns});
    } else {
      known->ns += ns;
    }
  }
  struct Adds {
    void operator()(std::int64_t from, std::int64_t until) const {
      to.add(cause, {state}, from, until);
    }
    DeviceGaps& to;
    IdleClass cause;
    HostState state;
  };
  Adds adds(IdleClass cause, HostState state) { return {*this, cause, state}; }
  void add_wait(std::uint32_t call, std::int64_t from, std::int64_t until) {
    const bool sync = context_.wait[call] == WaitKind::sync;
    add(sync ? IdleClass::sync : IdleClass::blocking_call, context_.host->in_call(call), from,
        until);
  }
  /// What CUDA did on its own account explains of a stretch.
  template <class Rest>
  void outside_of_own(std::int64_t from, std::int64_t until, Rest rest) {
    cut(own_, from, until, adds(IdleClass::blocking_call, HostState::cuda_own), rest);
  }

  void of_unknown(std::int64_t from, std::int64_t until) {
    outside_of_own(from, until, adds(IdleClass::other, HostState::launch_unknown));
  }

  void pending(std::uint32_t thread, std::int64_t from, std::int64_t until) {
    context_.host->waits(thread, from, until, [&](std::uint32_t call, auto a, auto b) {
      if (call != kNone) return add_wait(call, a, b);
      outside_of_own(a, b, adds(IdleClass::kernel_wait, HostState::launch_pending));
    });
  }

  void before_launch(std::uint32_t thread, std::uint32_t launch_before, std::int64_t from,
                     std::int64_t until) {
    const bool handed_over = launch_before != kNone && trace_.calls[launch_before].thread != thread;
    const auto nothing_launched = [&](const Doing& doing, std::int64_t a, std::int64_t b) {
      add(IdleClass::host_wait, doing, a, b);
    };
    context_.host->waits(thread, from, until, [&](std::uint32_t call, auto a, auto b) {
      if (call != kNone) return add_wait(call, a, b);
      outside_of_own(a, b, [&](std::int64_t c, std::int64_t d) {
        line(thread, c).walk(c, d, [&](const Doing& doing, auto e, auto f) {
          if (doing.state != HostState::nothing_recorded || !handed_over)
            return nothing_launched(doing, e, f);
          of_other(trace_.calls[launch_before].thread, e, f, nothing_launched);
        });
      });
    });
  }

  /// What the thread did that launched the operation before.
  template <class NothingLaunched>
  void of_other(std::uint32_t thread, std::int64_t from, std::int64_t until,
                NothingLaunched nothing_launched) {
    context_.host->waits(thread, from, until, [&](std::uint32_t call, auto a, auto b) {
      if (call != kNone) return add_wait(call, a, b);
      line(thread, a).walk(a, b, nothing_launched);
    });
  }

  HostLine& line(std::uint32_t thread, std::int64_t from_ns) {
    return lines_.try_emplace(thread, *context_.host, thread, from_ns).first->second;
  }

  const TraceContext& context_;
  const Trace& trace_;
  const IntervalSet profiler_, own_;
  std::map<std::uint32_t, HostLine> lines_;  // by thread
  IdleGap gap_;
};

/// The first of those that start with operation `n` of the list whose launch is known; else that
/// one.
std::uint32_t launched_of(const TraceContext& context, const OpIndices& ops, std::size_t n) {
  const auto start = [&](std::size_t i) { return context.trace.ops[ops[i]].start_ns; };
  for (std::size_t i = n; i < ops.size() && start(i) == start(n); ++i)
    if (context.launch[ops[i]] != kNone) return ops[i];
  return ops[n];
}

}  // namespace

const char* to_string(IdleClass cause) {
  switch (cause) {
    case IdleClass::host_wait:
      return "host_wait";
    case IdleClass::kernel_wait:
      return "kernel_wait";
    case IdleClass::sync:
      return "sync";
    case IdleClass::blocking_call:
      return "blocking_call";
    case IdleClass::profiler_overhead:
      return "profiler_overhead";
    default:
      return "other";
  }
}

void for_each_gap(const TraceContext& context, const OpIndices& ops,
                  const std::function<void(const IdleGap&)>& visit) {
  const std::vector<GpuOp>& all = context.trace.ops;
  DeviceGaps gaps(context, ops);
  std::uint32_t last = ops.front();  // of those so far the one that ends last
  for (std::size_t n = 0; n < ops.size(); ++n) {
    const std::uint32_t i = ops[n];
    if (all[i].start_ns > all[last].end_ns) visit(gaps.gap(last, i, launched_of(context, ops, n)));
    if (all[i].end_ns > all[last].end_ns) last = i;
  }
}

}  // namespace nsa::trace
