// Names of ranges of the host as tables show them.
#pragma once

#include <string>
#include <string_view>

namespace nsa::trace {

/// "ProfilerStep#7", "step 3", "iteration_10", "train_step[4]".
bool is_step_name(std::string_view name);
/// A range's name without what differs from call to call: the number of a step, the numbers that
/// PyTorch writes after names of NVTX ranges.
std::string plain_range_name(std::string_view range);

}  // namespace nsa::trace
