// Traces: where the time goes. Gains are what the critical path would be shorter by, or the time in
// which the GPU was idle or communication was hidden by nothing; those of one trace overlap and do
// not add up.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rules.hpp"
#include "trace_advice.hpp"
#include "trace_parts.hpp"
#include "words.hpp"

namespace nsa::doctor {
namespace {

constexpr double kIdleShare = .25;         // of the span
constexpr std::int64_t kSpanNs = 100'000;  // a shorter trace says nothing about waiting
constexpr double kWaitShare = .02;         // of the trace's span: can be won by not waiting
constexpr double kHostShare = .1;          // of it: can be won by a faster host
constexpr double kDataShare = .05;
constexpr std::int64_t kManyKernels = 1000, kKernelsPerWait = 100;
/// Of a step, where steps are known: an ordinary one waits a few times, for its loss or its
/// buckets.
constexpr std::int64_t kManyWaits = 20;
constexpr double kExposedShare = .05;
constexpr std::int64_t kLaunches = 20;  // of kernels long enough to tell
constexpr double kBlockingShare = .9;
constexpr std::int64_t kFewSamples = 3;  // of a line: fewer may be chance

std::string causes_of(const trace::IdleClasses& c) {
  std::string text;
  const auto add = [&](const char* cause, std::optional<std::int64_t> ns) {
    if (ns.value_or(0) > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", cause, time_text(*ns));
  };
  add("no launch was pending", c.host_wait);
  add("a launch was pending", c.kernel_wait);
  add("the host waited", c.sync);
  add("the host was in a copy, an allocation or module loading", c.blocking_call);
  add("the profiler's own", c.profiler_overhead);
  add("not known", c.other);
  return text;
}

/// The trace would be shorter if the host was faster, and most idle time is owed to that. The path
/// knows it of launches too: where each takes its time to reach an idle GPU, one is always pending,
/// and yet the host is what the GPU waits for.
bool host_limits(const TraceEvidence& t) {
  const trace::GpuFigures gpu = worst_gpu(t, own_idle_ns).gpu;
  const std::int64_t idle = own_idle_ns(gpu);
  const std::int64_t gain = path_gain_ns(t, "host").value_or(host_idle_ns(gpu));
  return share_of(idle, gpu.device_ns()) > kIdleShare && most(gain, idle) &&
         share_of(gain, t.summary.gpu->span_ns) > kHostShare;
}

/// Most of what the host costs is waiting for data.
bool data_limits(const TraceEvidence& t) {
  const std::int64_t data = path_gain_ns(t, "data_loading").value_or(0);
  return data > 0 && 2 * data > path_gain_ns(t, "host").value_or(0);
}

bool loops_on_host(const TraceEvidence& t) {
  const trace::GpuFigures& gpu = *t.summary.gpu;
  const Group all = total_of(t.waits);
  const std::int64_t idle = host_idle_ns(gpu) + gpu.idle_by_class_ns.sync.value_or(0) +
                            gpu.idle_by_class_ns.blocking_call.value_or(0);
  return gpu.kernels >= kManyKernels && most(t.short_kernels, gpu.kernels) &&
         all.count >= kManyWaits * steps_of(t) && share_of(idle, gpu.device_ns()) > kIdleShare &&
         gpu.kernels / all.count <= kKernelsPerWait;
}

/// Short ones are named where they are most.
std::string kernels_text(const TraceEvidence& t) {
  const std::int64_t kernels = t.summary.gpu->kernels;
  std::string text = count_text(kernels) + " kernels";
  if (most(t.short_kernels, kernels))
    text += fmt::format(", {} of them shorter than {}", count_text(t.short_kernels),
                        time_text(kShortKernelNs));
  return text;
}

/// What the host did meanwhile, the longest first; without what it had launched already, as asked.
void add_host_state(const TraceEvidence& t, std::vector<Fact>& facts, std::size_t most,
                    bool skip_pending = false) {
  if (!t.summary.gaps) return;
  for (const trace::GapCause& cause : t.summary.gaps->causes) {
    if (skip_pending && cause.what == "launch_pending") continue;
    if (most-- == 0) break;
    facts.push_back({.what = "idle while the host " + host_state_text(cause) + of_all_gpus(t),
                     .source = t.summary.path,
                     .count = cause.count,
                     .ns = cause.total_ns});
  }
}

/// At which lines of the program the host was, most samples first.
void add_lines(const TraceEvidence& t, std::vector<Fact>& facts, std::size_t most) {
  if (!t.summary.gaps) return;
  const trace::Gaps& gaps = *t.summary.gaps;
  for (const trace::GapLine& line : gaps.lines) {
    if (most-- == 0 || line.at.samples < kFewSamples) break;
    facts.push_back({.what = fmt::format("idle while the host was at {}, {} of {} samples",
                                         line_text(line.at), line.at.samples, gaps.samples),
                     .source = t.summary.path,
                     .count = line.at.samples});
  }
}

/// "one of the longest gaps, while the host was in aten::item"
std::string gap_text(const TraceEvidence& t, const Gap& gap) {
  if (t.summary.gaps)
    for (const trace::GapRow& row : t.summary.gaps->longest)
      if (row.start_ns == gap.start_ns && row.duration_ns == gap.duration_ns && !row.parts.empty())
        return fmt::format("one of the longest gaps, {}while the host {}{}",
                           most(row.parts.front().total_ns, row.duration_ns)
                               ? ""
                               : time_text(row.parts.front().total_ns) + " of it ",
                           host_state_text(row.parts.front()),
                           row.lines.empty() ? "" : ", at " + line_text(row.lines.front()));
  return "one of the longest gaps";
}

/// The path knows better than the intersection of intervals where it is known which stream waits
/// for which.
Gain exposed_gain(const TraceEvidence& t, const OneGpu& worst) {
  Gain exposed = gain_in(t, worst.gpu.exposed_comm_ns,
                         "time in which only communication runs" + on_gpu(worst));
  if (t.summary.exposed_comm_doubt().empty())
    return path_gain(t, "collective", exposed, "communication");
  return exposed;
}

/// Whether the host is what the trace waits for, and the path would be no shorter without
/// communication, of which it is not known for sure what waits for it.
bool communication_may_be_free(const TraceEvidence& t) {
  return !t.summary.exposed_comm_doubt().empty() && path_share(t, "collective") < kNoiseShare &&
         host_limits(t);
}

/// Idle time in waits, and that in which the host prepares what it could not while it waited.
std::int64_t wait_idle_ns(const trace::GpuFigures& gpu) {
  const trace::IdleClasses& c = gpu.idle_by_class_ns;
  return c.sync.value_or(0) + c.blocking_call.value_or(0) + host_idle_ns(gpu);
}

std::int64_t exposed_ns(const trace::GpuFigures& gpu) { return gpu.exposed_comm_ns; }

}  // namespace

Founds trace_idle_gpu(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const OneGpu worst = worst_gpu(t, own_idle_ns);
    const trace::GpuFigures& gpu = worst.gpu;
    const double idle = share_of(own_idle_ns(gpu), gpu.device_ns());
    if (gpu.span_ns < kSpanNs || idle <= kIdleShare) return;
    Found found{
        fmt::format("{} is idle {} of {} ({}){}", worst.name, time_text(own_idle_ns(gpu)),
                    time_text(gpu.device_ns()), percent_text(idle), most_of(worst)),
        {{.what = causes_of(gpu.idle_by_class_ns), .source = t.summary.path, .ns = gpu.idle_ns}},
        idle_gain(t)};
    add_host_state(t, found.facts, 3);
    add_lines(t, found.facts, 3);
    for (const Gap& gap : t.gaps)
      found.facts.push_back({.what = gap_text(t, gap),
                             .source = t.summary.path,
                             .ns = gap.duration_ns,
                             .event_ids = ids_of(gap.id)});
    found.advice = idle_advice(t, gpu);
    founds.push_back(std::move(found));
  });
}

Founds trace_data_loading(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    if (t.summary.gpu->span_ns < kSpanNs || path_share(t, "data_loading") <= kDataShare) return;
    const std::int64_t gain = path_gain_ns(t, "data_loading").value_or(0);
    const std::int64_t total = what_if(t, "data_loading")->total_ns;
    founds.push_back({fmt::format("the program loads data for {} while the GPU has nothing to do",
                                  time_text(gain)),
                      {{.what = "data loading on the threads that launch",
                        .source = t.summary.path,
                        .ns = total}},
                      path_gain(t, "data_loading", {}, "data loading")});
  });
}

Founds trace_host_syncs(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const std::int64_t span_ns = t.summary.gpu->span_ns;
    const Group all = total_of(t.waits);
    const OneGpu worst = worst_gpu(t, wait_idle_ns);
    Gain most =
        gain_in(t, wait_idle_ns(worst.gpu), "idle time of " + worst.name + " in and after waits");
    if (all.total_ns < most.at_most_ns) most = gain_in(t, all.total_ns, "all time of these waits");
    const Gain gain = path_gain(t, "other_wait", most, "these waits");
    if (span_ns < kSpanNs || all.count == 0) return;
    if (share_of(gain.at_most_ns.value_or(0), span_ns) <= kWaitShare) return;
    Found found{fmt::format("the host waits {} times{}, {} in all", count_text(all.count),
                            a_step(t, all.count), time_text(all.total_ns)),
                {},
                gain};
    for (const Group& group : first_of(t.waits, 6))
      found.facts.push_back(fact_of(t, group, in_text(group)));
    advise_on_waits(t, found);
    founds.push_back(std::move(found));
  });
}

Founds trace_host_loop(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    if (!loops_on_host(t)) return;
    const std::int64_t waits = total_of(t.waits).count;
    Found found{fmt::format("{}, and the host waits after every {} of them: a loop on the host "
                            "over rows, groups or blocks",
                            kernels_text(t), t.summary.gpu->kernels / waits),
                {},
                idle_gain(t)};
    for (const Group& group : first_of(t.waits, 3))
      found.facts.push_back(fact_of(t, group, in_text(group)));
    if (is_nsa(t)) {
      found.advice = "vectorise what still loops on the host";
      found.exports = {"NSA_FORCE_SEL_MASK=1"};
    }
    founds.push_back(std::move(found));
  });
}

Founds trace_launch_bound(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const trace::GpuFigures& gpu = *t.summary.gpu;
    if (gpu.span_ns < kSpanNs || gpu.kernels < 20 || !host_limits(t) || loops_on_host(t) ||
        data_limits(t))
      return;
    const Gain gain = path_gain(t, "host", idle_gain(t), "the host's own work");
    Found found{fmt::format("the GPU waits for the host's own work for {} of {}: {}",
                            time_text(gain.at_most_ns.value_or(0)), time_text(gpu.span_ns),
                            kernels_text(t)),
                {},
                gain};
    add_host_state(t, found.facts, 5, long_pending_ns(t) > 0);
    if (found.facts.empty())
      found.facts.push_back({.what = causes_of(gpu.idle_by_class_ns), .source = t.summary.path});
    found.advice = host_advice(t);
    founds.push_back(std::move(found));
  });
}

Founds trace_launch_blocking(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    if (t.telling_launches < kLaunches ||
        share_of(t.blocking_launches, t.telling_launches) < kBlockingShare)
      return;
    founds.push_back({fmt::format("{} of {} launch calls of kernels of {} and more return only "
                                  "after their kernel ended",
                                  count_text(t.blocking_launches), count_text(t.telling_launches),
                                  time_text(kTellingKernelNs)),
                      {{.what = "launch calls that waited",
                        .source = t.summary.path,
                        .count = t.blocking_launches}},
                      idle_gain(t)});
  });
}

Founds trace_exposed_comm(const RunEvidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const OneGpu worst = worst_gpu(t, exposed_ns);
    const double share = share_of(exposed_ns(worst.gpu), t.summary.gpu->span_ns);
    if (share <= kExposedShare) return;
    Found found{
        fmt::format("{} of {} of communication{} is not hidden by any computation ({} of "
                    "the time){}{}",
                    time_text(exposed_ns(worst.gpu)), time_text(worst.gpu.comm_ns), on_gpu(worst),
                    percent_text(share), most_of(worst), t.summary.exposed_comm_doubt()),
        {},
        exposed_gain(t, worst)};
    for (const trace::CollectiveRow& row : t.summary.collectives
                                               ? t.summary.collectives->rows
                                               : std::vector<trace::CollectiveRow>{}) {
      if (found.facts.size() == 4) break;
      found.facts.push_back({.what = clean(collective_text(row), 160),
                             .source = t.summary.path,
                             .count = row.count,
                             .ns = row.total_ns});
    }
    advise_on_communication(t, found);
    if (communication_may_be_free(t)) {
      found.severity = Severity::note;
      found.gain =
          unknown_gain("the host limits the trace, which may be no shorter without communication");
      found.advice = "first make the host faster (see the other findings), then record again";
      found.exports = {};
    }
    founds.push_back(std::move(found));
  });
}

}  // namespace nsa::doctor
