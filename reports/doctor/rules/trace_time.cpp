// Traces: where the time goes. Gains are bounded by the time in which the GPU was idle, or by
// communication that nothing hid; those of one trace overlap and do not add up.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rules.hpp"
#include "trace_parts.hpp"
#include "words.hpp"

namespace nsa::doctor {
namespace {

constexpr double kIdleShare = .25;          // of the span
constexpr std::int64_t kSpanNs = 100'000;   // a shorter trace says nothing about waiting
constexpr std::int64_t kWaitsPerStep = 10;  // of losses, norms and logging
constexpr double kWaitShare = .1;           // of the span
constexpr std::int64_t kManyKernels = 1000, kKernelsPerWait = 100, kManyWaits = 20;
constexpr double kShortShare = .5;
constexpr double kExposedShare = .05;
constexpr std::int64_t kLaunches = 100;
constexpr double kBlockingShare = .9;

/// Idle time that the host is the cause of; all of it where the source cannot tell.
std::int64_t host_idle_ns(const trace::GpuFigures& gpu) {
  const trace::IdleClasses& c = gpu.idle_by_class_ns;
  if (!c.host_wait && !c.sync) return gpu.idle_ns;
  return std::min(gpu.idle_ns,
                  c.host_wait.value_or(0) + c.sync.value_or(0) + c.blocking_call.value_or(0));
}

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

/// The GPU that waits most, of those that work through most of the trace: one that is busy does not
/// hide another.
std::pair<std::string, trace::GpuFigures> most_idle(const TraceEvidence& t) {
  std::pair<std::string, trace::GpuFigures> worst{"the GPU", *t.summary.gpu};
  if (t.summary.devices.size() < 2) return worst;
  for (const trace::DeviceSummary& device : t.summary.devices) {
    if (share_of(device.gpu.span_ns, t.summary.gpu->span_ns) < .5) continue;
    if (share_of(device.gpu.idle_ns, device.gpu.span_ns) >
        share_of(worst.second.idle_ns, worst.second.device_ns()))
      worst = {fmt::format("GPU {}", device.device), device.gpu};
  }
  return worst;
}

/// Kernels too short to hide the launch of the next one, while the GPU waits for the host.
bool host_limits(const TraceEvidence& t) {
  const trace::GpuFigures& gpu = *t.summary.gpu;
  return share_of(t.short_kernels, gpu.kernels) > kShortShare &&
         share_of(host_idle_ns(gpu), gpu.device_ns()) > kIdleShare;
}

bool loops_on_host(const TraceEvidence& t) {
  const trace::GpuFigures& gpu = *t.summary.gpu;
  const Group all = total_of(t.waits);
  return gpu.kernels >= kManyKernels && all.count >= kManyWaits && host_limits(t) &&
         gpu.kernels / all.count <= kKernelsPerWait;
}

std::string short_kernels_text(const TraceEvidence& t) {
  return fmt::format("{} of {} kernels are shorter than {}", count_text(t.short_kernels),
                     count_text(t.summary.gpu->kernels), time_text(kShortKernelNs));
}

}  // namespace

Founds trace_idle_gpu(const Evidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const auto [name, gpu] = most_idle(t);
    const double idle = share_of(gpu.idle_ns, gpu.device_ns());
    if (gpu.span_ns < kSpanNs || idle <= kIdleShare) return;
    Found found{
        fmt::format("{} is idle {} of {} ({})", name, time_text(gpu.idle_ns),
                    time_text(gpu.device_ns()), percent_text(idle)),
        {{.what = causes_of(gpu.idle_by_class_ns), .source = t.summary.path, .ns = gpu.idle_ns}},
        gain_in(t, gpu.idle_ns, "all idle time")};
    for (const Gap& gap : t.gaps)
      found.facts.push_back({.what = "one of the longest gaps",
                             .source = t.summary.path,
                             .ns = gap.duration_ns,
                             .event_ids = ids_of(gap.id)});
    founds.push_back(std::move(found));
  });
}

Founds trace_host_syncs(const Evidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const trace::GpuFigures& gpu = *t.summary.gpu;
    const Group all = total_of(t.waits);
    const std::int64_t steps = steps_of(t);
    const bool many = all.count > kManyWaits && all.count / steps > kWaitsPerStep;
    const bool long_ones = share_of(all.total_ns, gpu.device_ns()) > kWaitShare &&
                           share_of(gpu.idle_ns, gpu.device_ns()) > kIdleShare;
    if (gpu.span_ns < kSpanNs || (!many && !long_ones)) return;
    Found found{fmt::format("the host waits {} times{}, {} in all", count_text(all.count),
                            a_step(t, all.count), time_text(all.total_ns)),
                {},
                gain_in(t, host_idle_ns(gpu),
                        "idle time in which no launch was pending or the "
                        "host waited")};
    for (const Group& group : first_of(t.waits, 6))
      found.facts.push_back(fact_of(t, group, in_text(group)));
    founds.push_back(std::move(found));
  });
}

Founds trace_host_loop(const Evidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const trace::GpuFigures& gpu = *t.summary.gpu;
    if (!loops_on_host(t)) return;
    const std::int64_t waits = total_of(t.waits).count;
    founds.push_back({fmt::format("{}, and the host waits after every {} of them: a loop on the "
                                  "host over rows, groups or blocks",
                                  short_kernels_text(t), gpu.kernels / waits),
                      {fact_of(t, t.waits.front(), in_text(t.waits.front()))},
                      gain_in(t, host_idle_ns(gpu),
                              "idle time in which no launch was pending or the host waited")});
  });
}

Founds trace_launch_bound(const Evidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const trace::GpuFigures& gpu = *t.summary.gpu;
    if (gpu.span_ns < kSpanNs || gpu.kernels < 20 || !host_limits(t) || loops_on_host(t)) return;
    founds.push_back({short_kernels_text(t) + ", so the GPU waits for launches",
                      {{.what = "kernels shorter than a launch",
                        .source = t.summary.path,
                        .count = t.short_kernels}},
                      gain_in(t, host_idle_ns(gpu),
                              "idle time in which no launch was pending or the host waited")});
  });
}

Founds trace_launch_blocking(const Evidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    if (t.launches < kLaunches || share_of(t.blocking_launches, t.launches) < kBlockingShare)
      return;
    founds.push_back({fmt::format("{} of {} launch calls return only after their kernel ended",
                                  count_text(t.blocking_launches), count_text(t.launches)),
                      {{.what = "launch calls that waited",
                        .source = t.summary.path,
                        .count = t.blocking_launches}},
                      gain_in(t, t.summary.gpu->idle_ns, "all idle time")});
  });
}

Founds trace_exposed_comm(const Evidence& evidence) {
  return each_trace(evidence, [](const TraceEvidence& t, Founds& founds) {
    const trace::GpuFigures& gpu = *t.summary.gpu;
    if (gpu.comm_kernels == 0 || share_of(gpu.exposed_comm_ns, gpu.device_ns()) <= kExposedShare)
      return;
    Found found{fmt::format("{} of {} of communication are hidden by no computation ({} of the "
                            "GPUs' time)",
                            time_text(gpu.exposed_comm_ns), time_text(gpu.comm_ns),
                            percent_text(share_of(gpu.exposed_comm_ns, gpu.device_ns()))),
                {},
                gain_in(t, gpu.exposed_comm_ns, "exposed communication")};
    for (const trace::KernelRow& row :
         t.summary.kernels_by_name.value_or(std::vector<trace::KernelRow>{})) {
      if (!row.comm || found.facts.size() == 3) continue;
      found.facts.push_back({.what = clean(row.name, 100),
                             .source = t.summary.path,
                             .count = row.count,
                             .ns = row.total_ns});
    }
    founds.push_back(std::move(found));
  });
}

}  // namespace nsa::doctor
