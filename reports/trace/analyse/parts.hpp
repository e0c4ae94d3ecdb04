// The parts of a summary, one file each.
#pragma once

#include "analyse/steps/index.hpp"
#include "analyse/steps/ranges.hpp"
#include "context.hpp"

namespace nsa::trace {

/// Classes of work by the range around the launch.
struct StageClasses {
  /// The name, and whether it is inferred: "topk (inferred)".
  std::string text(std::size_t c) const;

  std::vector<std::string> names;    // [classes]
  std::vector<char> inferred;        // [classes] from the order of operators, not from a name
  std::vector<char> op_in_backward;  // [ops]; empty where nothing is inferred
  std::vector<int> of_call, of_op;   // [calls], [ops]; -1 = none
};
StageClasses stage_classes(const TraceContext& context);
/// The step that launched an operation; of steps on the device's line the one in which it starts.
std::optional<std::size_t> step_of_op(const TraceContext& context, const StepIndex& index,
                                      const std::vector<StepRange>& ranges, std::uint32_t op);
/// [steps] The operations of each of them, wherever they ran.
std::vector<OpIndices> ops_of_steps(const TraceContext& context,
                                    const std::vector<StepRange>& ranges);
/// Where steps end on the device's line, before some of them are left out.
void set_next_ops(const TraceContext& context, std::vector<StepRange>& ranges);

void add_devices(const TraceContext& context, Summary& out);
void add_gpu_ranges(const TraceContext& context, Summary& out);
/// What moved data between GPUs.
void add_collectives(const TraceContext& context, Summary& out);
void add_copies(const TraceContext& context, Summary& out);
void add_kernels(const TraceContext& context, Summary& out);
void add_launches(const TraceContext& context, Summary& out);
void add_host_syncs(const TraceContext& context, const StageClasses& classes, Summary& out);
void add_stages(const TraceContext& context, const StageClasses& classes, Summary& out);
/// Needs the steps.
void add_critical_path(const TraceContext& context, Summary& out);
void add_gaps(const TraceContext& context, Summary& out);
void add_queue(const TraceContext& context, Summary& out);
void add_operators(const TraceContext& context, Summary& out);
void add_annotations(const TraceContext& context, Summary& out);
void add_modules(const TraceContext& context, Summary& out);
void add_steps(const TraceContext& context, Summary& out);
void add_memory(const TraceContext& context, Summary& out);
void add_recording(const Trace& trace, Summary& out);
/// X events of one host thread that overlap and are not nested.
void add_partial_overlaps(const TraceContext& context, Summary& out);

}  // namespace nsa::trace
