// What `db counters` prints.
#pragma once

#include <string>

#include "nsa/schemas/launch_counters.hpp"

namespace nsa::reports {

/// The variant and its problem, then shares of the peaks and DRAM bytes on one line, or why they
/// were not read. Names and reasons are those that workers gave: they are data.
std::string launch_counters_text(const LaunchCountersRow& row);

}  // namespace nsa::reports
