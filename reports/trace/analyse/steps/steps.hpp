// Steps that nobody marked, and what steps took.
#pragma once

#include <cstdint>
#include <vector>

#include "nsa/trace/summary.hpp"
#include "ranges.hpp"

namespace nsa::trace {

/// The longest sequence of kernels of each process that comes again and again, one step each: three
/// times at least, most of them alike kernel for kernel, and most of all kernels in them. Empty
/// where there is none.
std::vector<StepRange> repeating_steps(const Trace& trace,
                                       const std::vector<std::uint32_t>& launch);

/// Median, p95 and the worst of some steps, at least one, and what the worst took longer for.
StepTimes step_times_of(const std::vector<Step>& steps);

}  // namespace nsa::trace
