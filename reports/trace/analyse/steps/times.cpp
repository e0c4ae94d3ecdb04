#include "steps.hpp"

#include <algorithm>

#include "analyse/sums.hpp"

namespace nsa::trace {
namespace {

/// A step's time in parts that add up to it on one device.
std::vector<StepCause> parts_of(const Step& step) {
  const GpuFigures& gpu = *step.gpu;
  const IdleClasses& idle = gpu.idle_by_class_ns;
  const std::int64_t between = std::max<std::int64_t>(0, step.device_ns.value_or(0) - gpu.span_ns);
  return {{"compute", gpu.compute_ns},
          {"exposed_comm", gpu.exposed_comm_ns},
          {"copies", std::max<std::int64_t>(0, gpu.busy_ns - gpu.compute_ns - gpu.exposed_comm_ns)},
          {"host_wait", idle.host_wait.value_or(0)},
          {"kernel_wait", idle.kernel_wait.value_or(0)},
          {"sync", idle.sync.value_or(0)},
          {"blocking_call", idle.blocking_call.value_or(0)},
          {"profiler_overhead", idle.profiler_overhead.value_or(0)},
          {"other", idle.other},
          {"before_next_step", between}};
}

/// What each part of the worst step takes longer than the median of that part over all.
std::vector<StepCause> causes_of(const std::vector<Step>& steps, const Step& worst) {
  std::vector<std::vector<std::int64_t>> values;
  for (const Step& step : steps) {
    if (!step.gpu) return {};
    const std::vector<StepCause> parts = parts_of(step);
    values.resize(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) values[i].push_back(parts[i].more_ns);
  }
  std::vector<StepCause> causes = parts_of(worst);
  for (std::size_t i = 0; i < causes.size(); ++i) causes[i].more_ns -= nearest_rank(values[i], 50);
  std::erase_if(causes, [](const StepCause& cause) { return cause.more_ns <= 0; });
  std::stable_sort(causes.begin(), causes.end(),
                   [](const StepCause& a, const StepCause& b) { return a.more_ns > b.more_ns; });
  return causes;
}

}  // namespace

StepTimes step_times_of(const std::vector<Step>& steps) {
  StepTimes out;
  out.count = static_cast<std::int64_t>(steps.size());
  out.on_device = std::all_of(steps.begin(), steps.end(),
                              [](const Step& step) { return step.device_ns.has_value(); });
  std::vector<std::int64_t> times;
  for (const Step& step : steps)
    times.push_back(out.on_device ? *step.device_ns : step.duration_ns);
  const auto worst = std::max_element(times.begin(), times.end());
  out.worst = static_cast<std::size_t>(worst - times.begin());
  out.worst_ns = *worst;
  out.median_ns = nearest_rank(times, 50);
  out.p95_ns = nearest_rank(times, 95);
  if (steps.size() > 1) out.causes = causes_of(steps, steps[out.worst]);
  return out;
}

}  // namespace nsa::trace
