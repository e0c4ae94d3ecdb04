// Steps at the start of a trace that say nothing of the others.
#pragma once

#include <string>

#include "nsa/trace/model.hpp"

namespace nsa::doctor {

/// Leaves them out of the trace: each of them takes half as long again as the median of all others,
/// and they are a third of all steps at most. Which, in words; "" where there are none.
std::string leave_out_warm_up(trace::Trace& trace);

}  // namespace nsa::doctor
