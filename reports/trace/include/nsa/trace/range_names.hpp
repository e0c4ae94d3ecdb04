// Names of ranges of the host as tables show them.
#pragma once

#include <string>
#include <string_view>

namespace nsa::trace {

/// Of ProcessInfo::metadata, a line each: what ranges are called that the recorder took for steps,
/// as name_of_steps() has it, and modules whose passes a hook made ranges of, without the pass.
inline constexpr const char* kStepsRecorded = "steps";
inline constexpr const char* kModulesRecorded = "modules";

/// "ProfilerStep#7", "step 3", "iteration_10", "train_step[4]".
bool is_step_name(std::string_view name);
/// What the steps of a loop are called: "step N" of "step 3"; other names as they are.
std::string name_of_steps(std::string_view name);
/// Whose forward or backward pass a range of such a hook is: "layers.0 (Block)"; else empty.
std::string_view module_of_range(std::string_view name);
/// A range's name without what differs from call to call: the number of a step, the numbers that
/// PyTorch writes after names of NVTX ranges.
std::string plain_range_name(std::string_view range);

}  // namespace nsa::trace
