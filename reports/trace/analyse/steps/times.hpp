#pragma once

#include <vector>

#include "nsa/trace/summary.hpp"

namespace nsa::trace {

/// Median, p95 and the worst of some steps, at least one, and what the worst took longer for.
StepTimes step_times_of(const std::vector<Step>& steps);

}  // namespace nsa::trace
