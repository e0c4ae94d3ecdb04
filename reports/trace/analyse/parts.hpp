// The parts of a summary, one file each.
#pragma once

#include "analyse/steps/index.hpp"
#include "analyse/steps/ranges.hpp"
#include "context.hpp"

namespace nsa::trace {

/// Classes of work by the range around the launch.
struct StageClasses {
  std::vector<std::string> names;   // [classes]
  std::vector<int> of_call, of_op;  // [calls], [ops]; -1 = none
};
StageClasses stage_classes(const Context& context);
/// The step that launched an operation; of steps on the device's line the one in which it starts.
std::optional<std::size_t> step_of_op(const Context& context, const StepIndex& index,
                                      const std::vector<StepRange>& ranges, std::uint32_t op);
/// [steps] The operations of each of them, wherever they ran.
std::vector<OpIndices> ops_of_steps(const Context& context, const std::vector<StepRange>& ranges);

void add_devices(const Context& context, Summary& out);
void add_gpu_ranges(const Context& context, Summary& out);
/// What moved data between GPUs.
void add_collectives(const Context& context, Summary& out);
void add_copies(const Context& context, Summary& out);
void add_kernels(const Context& context, Summary& out);
void add_launches(const Context& context, Summary& out);
void add_host_syncs(const Context& context, const StageClasses& classes, Summary& out);
void add_stages(const Context& context, const StageClasses& classes, Summary& out);
/// Needs the steps.
void add_critical_path(const Context& context, Summary& out);
void add_gaps(const Context& context, Summary& out);
void add_queue(const Context& context, Summary& out);
void add_operators(const Context& context, Summary& out);
void add_annotations(const Context& context, Summary& out);
void add_modules(const Context& context, Summary& out);
void add_steps(const Context& context, Summary& out);
void add_memory(const Context& context, Summary& out);
void add_recording(const Trace& trace, Summary& out);
/// X events of one host thread that overlap and are not nested.
void add_partial_overlaps(const Context& context, Summary& out);

}  // namespace nsa::trace
