#include "profile.hpp"

#include "analyse/launches.hpp"
#include "analyse/parts.hpp"
#include "analyse/steps/index.hpp"
#include "analyse/sums.hpp"

namespace nsa::trace {
namespace {

/// For each operation the step that launched it, -1 = none.
std::vector<std::int64_t> steps_of_ops(const TraceContext& context,
                                       const std::vector<StepRange>& ranges) {
  const StepIndex index(ranges);
  std::vector<std::int64_t> out(context.trace.ops.size(), -1);
  for (std::uint32_t i = 0; i < out.size(); ++i)
    if (const auto at = step_of_op(context, index, ranges, i))
      out[i] = static_cast<std::int64_t>(*at);
  return out;
}

void add(Samples& samples, std::int64_t duration, std::int64_t step, std::size_t steps) {
  samples.calls.push_back(duration);
  add_to(samples.total_ns, duration);
  if (samples.steps.empty()) samples.steps.resize(steps);
  if (step >= 0) add_to(samples.steps[static_cast<std::size_t>(step)], duration);
}

std::string triple(const std::array<std::uint32_t, 3>& n) {
  return std::to_string(n[0]) + "," + std::to_string(n[1]) + "," + std::to_string(n[2]);
}

/// [shapes] What is added to a kernel's name: " <<<8,1,1; 128,1,1>>>", as in a launch.
std::vector<std::string> shape_texts(const Trace& trace) {
  std::vector<std::string> out{""};
  for (std::size_t i = 1; i < trace.shapes.size(); ++i)
    out.push_back(" <<<" + triple(trace.shapes[i].grid) + "; " + triple(trace.shapes[i].block) +
                  ">>>");
  return out;
}

}  // namespace

Profile profile_of(const Trace& trace) {
  const TraceContext context(trace);
  const StageClasses classes = stage_classes(context);
  const std::vector<StepRange> ranges = marked_steps(trace);
  const std::vector<std::int64_t> step = steps_of_ops(context, ranges);
  Profile out;
  const bool any_whole = std::ranges::any_of(ranges, &StepRange::whole);
  for (const StepRange& range : ranges)
    if (range.whole || !any_whole)
      out.step_ns.push_back(range.end_ns - range.start_ns);
    else
      out.last_left_out = true;
  std::set<std::int32_t> devices;
  std::set<std::uint32_t> processes;
  const std::vector<std::string> shapes = shape_texts(trace);
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    const GpuOp& op = trace.ops[i];
    const std::int64_t duration = op.end_ns - op.start_ns;
    devices.insert(op.device);
    processes.insert(op.process);
    const std::string& name = trace.names.text(op.name);
    add(out.kernels[name], duration, step[i], ranges.size());
    add(out.launches[name + shapes[op.shape]], duration, step[i], ranges.size());
    if (classes.of_op[i] < 0) continue;
    const std::string stage = classes.text(static_cast<std::size_t>(classes.of_op[i]));
    add(out.stages[stage], duration, step[i], ranges.size());
  }
  out.processes = processes.size();
  for (const DeviceInfo& device : trace.devices)
    if (devices.count(device.id) != 0) out.gpus.insert(device.name);
  return out;
}

}  // namespace nsa::trace
