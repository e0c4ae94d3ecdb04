// What `db counters` and `db traces` print.
#pragma once

#include <string>

#include "nsa/schemas/launch_counters.hpp"
#include "nsa/schemas/launch_trace.hpp"

namespace nsa::reports {

/// The variant and its problem, then shares of the peaks and DRAM bytes on one line, or why they
/// were not read. Names and reasons are those that workers gave: they are data.
std::string launch_counters_text(const LaunchCountersRow& row);

/// What one launch of a variant did, and its kernels, a line each. Names are those that workers
/// gave: they are data.
std::string launch_trace_text(const LaunchTraceRow& row);

}  // namespace nsa::reports
