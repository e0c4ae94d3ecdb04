// Pure: activity in, what a launch did out.
#include "nsa/probes/launch_trace.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "cupti/call_names.hpp"

namespace nsa::probes {
namespace {

// Numbers of copies as CUPTI gives them.
constexpr std::uint32_t kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 8;
constexpr double kCompareFromNs = 50'000, kTolerance = 0.02;

struct Interval {
  std::int64_t start_ns, end_ns;
};

/// Kernels of our own timers, by the namespace that only they are in.
bool is_ours(const std::string& name) { return name.find("nsa::probes::") != std::string::npos; }

std::vector<Interval> operations(const ActivityTrace& a, std::int64_t from_ns) {
  std::vector<Interval> all;
  const auto add = [&](const auto& record) {
    if (record.start_ns >= from_ns) all.push_back({record.start_ns, record.end_ns});
  };
  for (const auto& kernel : a.kernels)
    if (!is_ours(a.texts.at(kernel.name))) add(kernel);
  for (const auto& copy : a.copies) add(copy);
  for (const auto& set : a.sets) add(set);
  std::sort(all.begin(), all.end(),
            [](const Interval& x, const Interval& y) { return x.start_ns < y.start_ns; });
  return all;
}

std::int64_t union_ns(const std::vector<Interval>& sorted) {
  std::int64_t total = 0, end = 0;
  for (const Interval& i : sorted) {
    total += std::max<std::int64_t>(0, i.end_ns - std::max(i.start_ns, end));
    end = std::max(end, i.end_ns);
  }
  return total;
}

void add_kernels(const ActivityTrace& a, std::int64_t from_ns, LaunchTrace& trace) {
  std::vector<const spool::SpoolKernel*> kernels;
  for (const auto& kernel : a.kernels)
    if (kernel.start_ns >= from_ns && !is_ours(a.texts.at(kernel.name))) kernels.push_back(&kernel);
  std::sort(kernels.begin(), kernels.end(),
            [](const auto* x, const auto* y) { return x->start_ns < y->start_ns; });
  std::map<std::uint32_t, std::size_t> places;
  for (const auto* kernel : kernels) {
    const auto [place, is_new] = places.try_emplace(kernel->name, trace.kernels.size());
    if (is_new) trace.kernels.push_back({a.texts.at(kernel->name), 0, 0});
    TracedKernel& known = trace.kernels[place->second];
    ++known.count;
    known.total_ns += kernel->end_ns - kernel->start_ns;
  }
}

void add_bytes(const ActivityTrace& a, std::int64_t from_ns, LaunchTrace& trace) {
  for (const auto& copy : a.copies) {
    if (copy.start_ns < from_ns) continue;
    const auto bytes = static_cast<std::int64_t>(copy.bytes);
    if (copy.copy_kind == kHostToDevice) trace.host_to_device_bytes += bytes;
    if (copy.copy_kind == kDeviceToHost) trace.device_to_host_bytes += bytes;
    if (copy.copy_kind == kDeviceToDevice) trace.device_to_device_bytes += bytes;
  }
  for (const auto& set : a.sets)
    if (set.start_ns >= from_ns) trace.memset_bytes += static_cast<std::int64_t>(set.bytes);
}

/// A call of the runtime and the driver's inside it share their correlation, and count once.
void add_calls(const ActivityTrace& a, std::int64_t from_ns, std::int64_t until_ns,
               LaunchTrace& trace) {
  std::map<std::uint64_t, const spool::SpoolApi*> outer;
  for (const auto& call : a.calls) {
    if (call.start_ns < from_ns || call.start_ns >= until_ns) continue;
    const auto [known, is_new] = outer.try_emplace(call.correlation, &call);
    if (!is_new && call.start_ns < known->second->start_ns) known->second = &call;
  }
  for (const auto& [correlation, call] : outer) {
    const std::string& name = a.texts.at(call->name);
    const bool copies_or_sets =
        name.find("Memcpy") != std::string::npos || name.find("Memset") != std::string::npos;
    trace.launches +=
        cupti::is_kernel_launch(name) || cupti::is_graph_launch(name) || copies_or_sets;
    trace.host_waits += cupti::is_host_wait(name);
    trace.allocations += cupti::is_allocation(name);
  }
}

}  // namespace

std::int64_t busy_ns(const ActivityTrace& activity, std::int64_t from_ns) {
  return union_ns(operations(activity, from_ns));
}

LaunchTrace launch_trace(const ActivityTrace& activity, std::int64_t from_ns,
                         std::int64_t until_ns) {
  LaunchTrace trace;
  const std::vector<Interval> all = operations(activity, from_ns);
  trace.busy_ns = union_ns(all);
  std::int64_t last = 0;
  for (const Interval& i : all) last = std::max(last, i.end_ns);
  if (!all.empty()) trace.span_ns = last - all.front().start_ns;
  trace.dropped = static_cast<std::int64_t>(activity.totals.dropped);
  add_kernels(activity, from_ns, trace);
  add_bytes(activity, from_ns, trace);
  add_calls(activity, from_ns, until_ns, trace);
  return trace;
}

std::string timer_disagreement(double cupti_ns, double events_ns) {
  if (std::max(cupti_ns, events_ns) <= kCompareFromNs) return {};
  if (std::abs(cupti_ns - events_ns) <= kTolerance * events_ns) return {};
  char text[128];
  std::snprintf(text, sizeof text,
                "timers disagree: from first start to last end %.1f us by CUPTI, %.1f us by events",
                cupti_ns * 1e-3, events_ns * 1e-3);
  return text;
}

}  // namespace nsa::probes
