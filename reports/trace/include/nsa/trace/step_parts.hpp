// What the time of each step went to, in parts that add up to it: what a stacked bar needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nsa/trace/model.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::trace {

struct StagePart {
  std::string stage;
  std::int64_t ns = 0;
};

/// From the first start to the last end of what a step launched, on each device alone and then
/// added up. Time in which several things ran
/// counts once: for a stage before work of no stage, for communication only where it is exposed.
struct StepParts {
  std::string name;  // "" where the trace has no steps: then all operations are one
  std::int64_t span_ns = 0;
  std::vector<StagePart> stages;  // by stage_of_range(), or "topk (inferred)"; none of zero
  std::int64_t unattributed_ns = 0;
  std::int64_t idle_ns = 0;
  IdleClasses idle_by_class_ns;  // adds up to idle_ns
};

/// Of the steps that launched something, in order; nothing for a trace without GPU operations, and
/// for one whose operations are on several time lines.
std::vector<StepParts> step_parts(const Trace& trace);

}  // namespace nsa::trace
