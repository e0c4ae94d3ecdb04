// Where the steps of a training or serving loop begin and end on the host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nsa/trace/model.hpp"
#include "nsa/trace/range_names.hpp"

namespace nsa::trace {

/// What the recorder took for steps, of each process of which it says so; of others ProfilerStep
/// annotations; else NVTX ranges such as "step 3"; else from one optimizer step to the next; else
/// ranges that may be steps, "train_step"; else the longest sequence of kernels that repeats. In
/// order of start; a step ends where the next one of its process begins, so that the time between
/// two steps belongs to the first. `launch`: [ops] the launch call of each operation.
std::vector<StepRange> step_ranges(const Trace& trace, const std::vector<std::uint32_t>& launch);
/// The same without the last resort, which has to look at operations.
std::vector<StepRange> marked_steps(const Trace& trace);
/// The last number in such a name: 7, 3, 10, 4.
std::optional<std::int64_t> step_number(const std::string& name);

}  // namespace nsa::trace
