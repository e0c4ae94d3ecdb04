// What `db traces` prints.
#pragma once

#include <string>

#include "nsa/schemas/launch_trace.hpp"

namespace nsa::reports {

/// What one launch of a variant did, and its kernels, a line each. Names are those that workers
/// gave: they are data.
std::string launch_trace_text(const LaunchTraceRow& row);

}  // namespace nsa::reports
