// Traces of the processes of one job on one time line.
#pragma once

#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// In the order of their ranks. Those of one machine that were recorded by our tracer share its
/// clock; others are put beside each other by their absolute times, as good as the clocks of the
/// machines agree. InputError where one has none. `traces` holds at least one.
Trace merge_traces(std::vector<Trace> traces);

}  // namespace nsa::trace
