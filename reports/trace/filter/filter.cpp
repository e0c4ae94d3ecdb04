#include "nsa/trace/filter.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include "analyse/context.hpp"
#include "analyse/intervals.hpp"
#include "analyse/launches.hpp"
#include "analyse/parts.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::trace {
namespace {

/// Which operations and which moments of the host are kept.
struct Chosen {
  std::vector<char> ops;         // [ops]
  std::vector<StepRange> steps;  // of the host; empty: all of its time
};

Chosen of_steps(const TraceContext& context, std::pair<std::int64_t, std::int64_t> wanted) {
  std::vector<StepRange> all = step_ranges(context.trace, context.launch);
  if (all.empty()) throw InputError("--step: no steps were found in this trace");
  set_next_ops(context, all);
  std::vector<char> in(all.size(), 0);
  Chosen out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t number = step_number(all[i].name).value_or(static_cast<std::int64_t>(i) + 1);
    in[i] = number >= wanted.first && number <= wanted.second;
    if (in[i]) out.steps.push_back(all[i]);
  }
  if (out.steps.empty())
    throw InputError("--step: no such step; they run from " + all.front().name + " to " +
                     all.back().name);
  const StepIndex index(all);
  for (std::uint32_t i = 0; i < context.trace.ops.size(); ++i) {
    const auto step = step_of_op(context, index, all, i);
    out.ops.push_back(step && in[*step] != 0);
  }
  return out;
}

template <class Event, class Keep>
void keep_if(std::vector<Event>& events, const Keep& kept) {
  std::erase_if(events, [&](const Event& event) { return !kept(event); });
}

/// Of everything but operations what begins at a moment that `holds(process, ns)`.
template <class Holds>
void keep_moments(Trace& trace, const Holds& holds) {
  const auto by_start = [&](const auto& e) { return holds(e.process, e.start_ns); };
  const auto by_time = [&](const auto& e) { return holds(e.process, e.at_ns); };
  keep_if(trace.calls, by_start);
  keep_if(trace.ranges, by_start);
  keep_if(trace.python, by_start);
  keep_if(trace.overheads, by_start);
  keep_if(trace.async_ranges, by_start);
  keep_if(trace.gpu_ranges, by_start);
  keep_if(trace.flows, by_start);
  keep_if(trace.syncs, by_start);
  keep_if(trace.memory, by_time);
  keep_if(trace.instants, by_time);
  keep_if(trace.counters, by_time);
  keep_if(trace.python_samples, by_time);
}

void keep_ops(Trace& trace, const std::vector<char>& kept) {
  std::size_t i = 0;
  std::erase_if(trace.ops, [&](const GpuOp&) { return kept[i++] == 0; });
}

void keep_steps(std::pair<std::int64_t, std::int64_t> wanted, Trace& trace) {
  const Chosen chosen = of_steps(TraceContext(trace), wanted);
  trace.steps = chosen.steps;
  keep_ops(trace, chosen.ops);
  const StepIndex index(chosen.steps);
  const bool on_device = chosen.steps.front().on_device;  // the host's times are others then
  if (!on_device)
    keep_moments(trace, [&](std::uint32_t process, std::int64_t ns) {
      return index.at(process, ns).has_value();
    });
}

void keep_time(std::pair<std::int64_t, std::int64_t> wanted, std::int64_t first, Trace& trace) {
  const auto holds = [&](std::uint32_t, std::int64_t ns) {
    return ns - first >= wanted.first && ns - first < wanted.second;
  };
  keep_if(trace.ops, [&](const GpuOp& op) { return holds(op.process, op.start_ns); });
  keep_moments(trace, holds);
  for (StepRange& step : *trace.steps) {  // the part of each
    step.start_ns = std::max(step.start_ns, first + std::min(wanted.first, kMaxTimeNs));
    if (step.end_ns - first <= wanted.second) continue;
    step.end_ns = first + wanted.second;
    if (step.next_op_ns) step.next_op_ns = std::min(*step.next_op_ns, step.end_ns);
  }
  keep_if(*trace.steps, [](const StepRange& step) { return step.start_ns < step.end_ns; });
}

/// What was launched and had not ended, over time. Of one process, or of one stream of it.
class Outstanding {
 public:
  void add(std::int64_t launched_ns, std::int64_t end_ns) {
    ops_.push_back({launched_ns, end_ns});
    in_order_ = false;
  }
  /// Whether something was launched before that moment that ended after it.
  bool at(std::int64_t ns) {
    if (!in_order_) {
      std::sort(ops_.begin(), ops_.end());
      for (std::size_t i = 1; i < ops_.size(); ++i)  // the last end of those before
        ops_[i].second = std::max(ops_[i].second, ops_[i - 1].second);
      in_order_ = true;
    }
    const auto behind = std::partition_point(ops_.begin(), ops_.end(),
                                             [&](const auto& op) { return op.first < ns; });
    return behind != ops_.begin() && std::prev(behind)->second > ns;
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> ops_;
  bool in_order_ = true;
};

/// [calls] Those that launched operations that are kept, and those in which the host waits for such
/// operations: it synchronises or copies in order while one of them has not ended, in the same
/// stream where the trace says for which stream it waits.
std::vector<char> calls_of(const TraceContext& context, const std::vector<char>& ops_kept) {
  const Trace& trace = context.trace;
  std::vector<char> out(trace.calls.size(), 0);
  std::map<std::uint32_t, Outstanding> of_process;
  std::map<std::pair<std::uint32_t, std::int64_t>, Outstanding> of_stream;
  std::vector<std::optional<std::int64_t>> waits_for(trace.calls.size());  // stream
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const GpuOp& op = trace.ops[i];
    const std::uint32_t launch = context.launch[i];
    if (launch != kNone) waits_for[launch] = op.stream;  // of a copy in order: for its own stream
    if (ops_kept[i] == 0) continue;
    const std::int64_t launched = launch == kNone ? op.start_ns : trace.calls[launch].start_ns;
    if (launch != kNone) out[launch] = 1;
    of_process[op.process].add(launched, op.end_ns);
    of_stream[{op.process, op.stream}].add(launched, op.end_ns);
  }
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t> recorded;
  for (const Sync& sync : trace.syncs)
    if (sync.stream >= 0 && sync.correlation != 0)
      recorded.emplace(std::pair{sync.process, sync.correlation}, sync.stream);
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const ApiCall& call = trace.calls[i];
    if (context.wait[i] != WaitKind::sync && context.wait[i] != WaitKind::copy) continue;
    const auto stream = recorded.find({call.process, call.correlation});
    if (stream != recorded.end()) waits_for[i] = stream->second;
    Outstanding& ops =
        waits_for[i] ? of_stream[{call.process, *waits_for[i]}] : of_process[call.process];
    out[i] |= static_cast<char>(ops.at(call.start_ns));
  }
  return out;
}

/// Operations of a stream or name, the calls that launched them or wait for them, and what CUDA did
/// on its own account within those.
void keep_matching(const Filter& filter, Trace& trace) {
  for (StepRange& step : *trace.steps) step.next_op_ns.reset();  // it may be of another stream
  std::vector<char> kept, calls_kept;
  {
    const TraceContext context(trace);
    for (const GpuOp& op : trace.ops)
      kept.push_back((!filter.stream || op.stream == *filter.stream) &&
                     trace.names.text(op.name).find(filter.name) != std::string::npos);
    calls_kept = calls_of(context, kept);
  }
  keep_ops(trace, kept);
  std::size_t i = 0;
  std::erase_if(trace.calls, [&](const ApiCall&) { return calls_kept[i++] == 0; });
  std::map<std::uint32_t, std::vector<Interval>> in_calls;
  for (const ApiCall& call : trace.calls)
    in_calls[call.process].push_back({call.start_ns, call.end_ns});
  for (auto& [process, times] : in_calls) times = union_of(std::move(times));
  keep_if(trace.overheads, [&](const Overhead& o) {
    return o.of_profiler ||
           length_of_intersection({{o.start_ns, o.end_ns}}, in_calls[o.process]) > 0;
  });
}

std::string in_ms(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12gms", static_cast<double>(ns) / 1e6);
  return text;
}

/// "3-7", or "3" where both are the same.
std::string range_text(const std::string& from, const std::string& to) {
  return from == to ? from : from + "-" + to;
}

/// As the flags that chose it.
std::string flags_of(const Filter& filter) {
  std::string text;
  const auto add = [&](const std::string& flag) { text += (text.empty() ? "" : " ") + flag; };
  if (filter.steps)
    add("--step " +
        range_text(std::to_string(filter.steps->first), std::to_string(filter.steps->second)));
  if (filter.time_ns)
    add("--time " + range_text(in_ms(filter.time_ns->first), in_ms(filter.time_ns->second)));
  if (filter.stream) add("--stream " + std::to_string(*filter.stream));
  if (!filter.name.empty()) add("--name " + filter.name);
  return text;
}

}  // namespace

bool holds_no_event(const Trace& trace) {
  return trace.source.untimed_ops == 0 && trace.ops.empty() && trace.calls.empty() &&
         trace.ranges.empty() && trace.python.empty() && trace.overheads.empty() &&
         trace.memory.empty() && trace.async_ranges.empty() && trace.gpu_ranges.empty() &&
         trace.instants.empty() && trace.syncs.empty() && trace.counters.empty() &&
         trace.python_samples.empty();
}

std::int64_t first_event(const Trace& trace) {
  if (trace.source.first_ns) return *trace.source.first_ns;
  std::int64_t first = kMaxTimeNs;
  for (const GpuOp& op : trace.ops) first = std::min(first, op.start_ns);
  for (const ApiCall& call : trace.calls) first = std::min(first, call.start_ns);
  for (const HostRange& range : trace.ranges) first = std::min(first, range.start_ns);
  return first == kMaxTimeNs ? 0 : first;
}

void keep(const Filter& filter, Trace& trace) {
  if (!filter.any()) return;
  trace.source.first_ns = first_event(trace);
  trace.source.part = flags_of(filter);
  KeptCounts kept;
  kept.of_ops = static_cast<std::int64_t>(trace.ops.size());
  kept.of_calls = static_cast<std::int64_t>(trace.calls.size());
  trace.steps = step_ranges(trace, launches_of(trace));
  if (filter.steps) keep_steps(*filter.steps, trace);
  if (filter.time_ns)
    keep_time(*filter.time_ns, filter.first_ns.value_or(*trace.source.first_ns), trace);
  if (filter.stream || !filter.name.empty()) keep_matching(filter, trace);
  if (trace.ops.empty() && trace.calls.empty() && trace.ranges.empty())
    throw InputError(trace.source.path + ": nothing is left by --step, --time, --stream or --name");
  if (trace.ops.empty() && (filter.stream || !filter.name.empty()))
    throw InputError(trace.source.path + ": no GPU operation has that stream or name");
  kept.ops = static_cast<std::int64_t>(trace.ops.size());
  kept.calls = static_cast<std::int64_t>(trace.calls.size());
  trace.source.kept = kept;
}

}  // namespace nsa::trace
