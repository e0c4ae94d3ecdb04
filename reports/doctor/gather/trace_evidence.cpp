// From the events of a trace what its summary does not keep: ids, and who called.
#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "around.hpp"
#include "groups.hpp"
#include "nsa/doctor/gather.hpp"
#include "nsa/trace/filter.hpp"
#include "nsa/trace/range_names.hpp"
#include "nsa/trace/waits.hpp"
#include "nsa/trace/warm_up.hpp"
#include "suspects.hpp"

namespace nsa::doctor {
namespace {

using trace::ApiCall;
using trace::GpuOp;
using trace::NameId;
using trace::OpKind;
using trace::Trace;
using trace::WaitKind;

constexpr std::size_t kGaps = 3;

void add_calls(const Trace& trace, TraceEvidence& out) {
  const std::vector<NameId> around = ranges_around(trace);
  const std::vector<std::string_view> functions = functions_around(trace);
  const std::vector<WaitKind> waits = trace::waits_of_calls(trace);
  Groups of_waits, of_allocations;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const ApiCall& call = trace.calls[i];
    if (waits[i] == WaitKind::none) continue;
    std::string by = trace::plain_range_name(trace.names.text(around[i]));
    if (by == "aten::_local_scalar_dense") by = "aten::item";  // what the user wrote
    (waits[i] == WaitKind::allocation ? of_allocations : of_waits)
        .add(trace.names.text(call.name), by, call.end_ns - call.start_ns, call.correlation,
             waits[i], functions[i]);
  }
  out.waits = of_waits.take();
  out.allocations = of_allocations.take();
}

void add_ops(const Trace& trace, TraceEvidence& out) {
  std::unordered_map<std::uint64_t, const ApiCall*> launches;  // the driver's ends within another
  for (const ApiCall& call : trace.calls) {
    if (call.correlation == 0) continue;
    const ApiCall*& last = launches[key_of(call)];
    if (!last || last->end_ns < call.end_ns) last = &call;
  }
  Groups copies;
  for (const GpuOp& op : trace.ops) {
    const std::int64_t ns = op.end_ns - op.start_ns;
    if (op.kind == OpKind::copy) {
      const std::string& name = trace.names.text(op.name);
      const std::string_view way = trace::copy_kind(name);
      if (way == "HtoD" || way == "DtoH") copies.add(name, "", ns, op.correlation);
    }
    if (op.kind != OpKind::kernel) continue;
    out.short_kernels += ns < kShortKernelNs;
    const auto launch = launches.find(key_of(op));
    if (op.correlation == 0 || launch == launches.end() || ns < kTellingKernelNs) continue;
    const ApiCall& call = *launch->second;
    ++out.telling_launches;
    out.blocking_launches += call.end_ns >= op.end_ns && 2 * ns > call.end_ns - call.start_ns;
  }
  out.copies = copies.take();
}

/// Of each GPU alone: one that works does not end the gap of another one.
void add_gaps(const Trace& trace, TraceEvidence& out) {
  std::map<std::pair<std::uint32_t, std::int32_t>, std::int64_t> busy_until;
  for (const GpuOp& op : trace.ops) {  // in order of start
    const auto [at, first] =
        busy_until.try_emplace({trace.part_of(op.process), op.device}, op.start_ns);
    if (op.start_ns > at->second)
      out.gaps.push_back({at->second, op.start_ns - at->second, op.correlation});
    at->second = std::max(at->second, op.end_ns);
  }
  const std::size_t kept = std::min(kGaps, out.gaps.size());
  std::partial_sort(out.gaps.begin(), out.gaps.begin() + static_cast<std::ptrdiff_t>(kept),
                    out.gaps.end(),
                    [](const Gap& a, const Gap& b) { return a.duration_ns > b.duration_ns; });
  out.gaps.resize(kept);
}

/// Leaves steps at the start that say nothing of the others out of the trace: each of them takes
/// half as long again as the median of all others, and they are a third of all steps at most.
/// Which, in words.
std::string leave_out_warm_up(const trace::WarmUp& found, std::size_t all, Trace& trace) {
  trace::Filter filter;
  filter.steps = found.later;
  trace::keep(filter, trace);
  return fmt::format("the first {} of {} steps: they warmed up ({:.3g} ms each, later ones {:.3g})",
                     found.steps, all, static_cast<double>(found.median_ns) / 1e6,
                     static_cast<double>(found.later_median_ns) / 1e6);
}

/// Leaves what the program did before its steps and after them out of the trace: findings say "a
/// step". Not where more is launched there than in the steps. Which, in words; "" where there is
/// nothing.
std::string leave_out_set_up(const trace::NumberedSteps& steps, Trace& trace) {
  const auto outside = [&](std::int64_t ns) { return ns < steps.start_ns || ns >= steps.end_ns; };
  const std::vector<WaitKind> waits = trace::waits_of_calls(trace);
  std::size_t waits_outside = 0, launches_outside = 0, launches = 0;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const bool is_outside = outside(trace.calls[i].start_ns), is_wait = waits[i] != WaitKind::none;
    waits_outside += is_outside && is_wait;
    launches_outside += is_outside && !is_wait;
    launches += !is_wait;
  }
  if (waits_outside == 0 || 2 * launches_outside > launches) return {};
  trace::Filter filter;
  filter.steps = steps.numbers;
  trace::keep(filter, trace);
  return fmt::format("what ran before the first of {} steps and after the last", steps.count);
}

/// Leaves out what findings of "a step" are not about. Which, in words; "" where there is nothing.
std::string leave_out(Trace& trace) {
  const auto steps = trace::numbered_steps_of(trace);
  if (!steps) return {};
  if (steps->warm_up) return leave_out_warm_up(*steps->warm_up, steps->count, trace);
  return steps->marked ? leave_out_set_up(*steps, trace) : "";
}

}  // namespace

TraceEvidence examine_trace(Trace& trace) {
  TraceEvidence out;
  out.left_out = leave_out(trace);
  out.summary = trace::summarize(trace);
  out.summary.path = clean(out.summary.path);
  add_calls(trace, out);
  add_ops(trace, out);
  add_gaps(trace, out);
  out.suspects = suspects_of(trace);
  out.job = trace::job_member(trace);
  return out;
}

}  // namespace nsa::doctor
