// Where the steps of a training or serving loop begin and end on the host.
#pragma once

#include <string>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

struct StepRange {
  std::string name, source;  // source: "annotation", "nvtx", "detected"
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t process = 0;
};

/// ProfilerStep annotations; else NVTX ranges such as "step 3"; else from one optimizer step to the
/// next. In order of start; steps of one process do not overlap.
std::vector<StepRange> step_ranges(const Trace& trace);
/// "ProfilerStep#7", "step 3", "iteration_10", "train_step[4]".
bool is_step_name(std::string_view name);

}  // namespace nsa::trace
