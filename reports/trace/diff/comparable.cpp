#include "profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

namespace nsa::trace {
namespace {

constexpr double kClockMargin = .05;
constexpr double kSameWork = .8;     // shared launches, where nothing marks the steps
constexpr double kSameProgram = .1;  // where steps do: kernels may be replaced
/// NVML's clock event reasons that are not the user's or idleness: power cap, slowdown, thermal.
constexpr std::uint64_t kThrottling = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

std::string joined(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

/// Launches by kernel that both have, per step where there are steps: 1 = all.
double shared_launches(const Profile& a, const Profile& b) {
  const bool steps = !a.step_ns.empty() && !b.step_ns.empty();
  const auto per_step = [&](const Profile& p, const Samples& s) {
    return static_cast<double>(s.calls.size()) /
           (steps ? static_cast<double>(p.step_ns.size()) : 1.0);
  };
  double common = 0, all = 0;
  for (const auto& [name, samples] : a.kernels) {
    const auto in_b = b.kernels.find(name);
    const double x = per_step(a, samples);
    const double y = in_b == b.kernels.end() ? 0 : per_step(b, in_b->second);
    common += std::min(x, y);
    all += std::max(x, y);
  }
  for (const auto& [name, samples] : b.kernels)
    if (a.kernels.count(name) == 0) all += per_step(b, samples);
  return all > 0 ? common / all : 1;
}

std::optional<double> mean_of(const Trace& trace, std::string_view counter) {
  double sum = 0;
  std::size_t n = 0;
  for (const Counter& c : trace.counters) {
    if (trace.names.text(c.name) != counter || !std::isfinite(c.value)) continue;
    sum += c.value;
    ++n;
  }
  return n > 0 ? std::optional(sum / static_cast<double>(n)) : std::nullopt;
}

std::optional<std::uint64_t> throttling_of(const Trace& trace) {
  std::optional<std::uint64_t> out;
  for (const Counter& c : trace.counters)
    if (trace.names.text(c.name) == "throttle_reasons" && c.value >= 0 && c.value < 1e15)
      out = out.value_or(0) | (static_cast<std::uint64_t>(c.value) & kThrottling);
  return out;
}

void judge_clocks(const Trace& a, const Trace& b, TraceDiff& out) {
  const auto clock_a = mean_of(a, "sm_clock_mhz"), clock_b = mean_of(b, "sm_clock_mhz");
  if (!clock_a || !clock_b) {
    out.notes.push_back("the clocks of the GPU were not recorded in both");
  } else if (std::abs(*clock_a - *clock_b) > kClockMargin * std::max(*clock_a, *clock_b)) {
    out.reasons.push_back("the GPU ran at " + std::to_string(std::lround(*clock_a)) + " and " +
                          std::to_string(std::lround(*clock_b)) + " MHz");
  }
  const auto throttle_a = throttling_of(a), throttle_b = throttling_of(b);
  if (throttle_a && throttle_b && (*throttle_a != 0) != (*throttle_b != 0))
    out.reasons.push_back("the GPU was held back (power cap or heat) in one of them only");
}

/// A trace that misses operations would look faster than it was.
void judge_whole(const Trace& trace, TraceDiff& out) {
  if (std::any_of(trace.ops.begin(), trace.ops.end(),
                  [](const GpuOp& op) { return op.kind == OpKind::graph; }))
    out.reasons.push_back(trace.source.path +
                          " holds graph launches that were recorded as a whole");
  for (const ProcessInfo& process : trace.processes) {
    if (!process.totals) continue;
    const Totals& t = *process.totals;
    if (t.dropped + t.lost > 0)
      out.reasons.push_back(trace.source.path + " misses " + std::to_string(t.dropped + t.lost) +
                            " operations that were dropped");
    if (!t.complete)
      out.notes.push_back(trace.source.path +
                          " ended without its exit handler: its end is missing");
  }
}

}  // namespace

void judge_comparable(const Trace& a, const Trace& b, const Profile& in_a, const Profile& in_b,
                      TraceDiff& out) {
  if (in_a.kernels.empty() || in_b.kernels.empty()) {
    out.reasons.push_back("no GPU operation was recorded in " +
                          (in_a.kernels.empty() ? a : b).source.path);
    return;
  }
  if (in_a.gpus.empty() || in_b.gpus.empty()) {
    out.notes.push_back("not both say on which GPU they were recorded");
  } else if (in_a.gpus != in_b.gpus) {
    out.reasons.push_back("the GPUs differ: " + joined(in_a.gpus) + " and " + joined(in_b.gpus));
  }
  if (a.source.world_size && b.source.world_size && *a.source.world_size != *b.source.world_size)
    out.reasons.push_back("jobs of " + std::to_string(*a.source.world_size) + " and " +
                          std::to_string(*b.source.world_size) + " processes");
  if (in_a.processes != in_b.processes)
    out.reasons.push_back("operations of " + std::to_string(in_a.processes) + " and " +
                          std::to_string(in_b.processes) + " processes were recorded");
  const double shared = shared_launches(in_a, in_b);
  const bool steps = !in_a.step_ns.empty() && !in_b.step_ns.empty();
  if (!steps)
    out.notes.push_back("steps are not marked in both; kernels are compared call by call");
  if (shared < (steps ? kSameProgram : kSameWork))
    out.reasons.push_back("the work differs: of all kernel launches" +
                          std::string(steps ? " of a step" : "") + " both share " +
                          percent(shared));
  judge_clocks(a, b, out);
  judge_whole(a, out);
  judge_whole(b, out);
}

}  // namespace nsa::trace
