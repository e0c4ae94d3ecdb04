// Ranges of a thresholds file that rest on other code than this program's.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/thresholds.hpp"

namespace nsa::cli {

/// Decisions for rows that this build compiles from other files than the measured ones were
/// compiled from, a line each: the runtime will call them stale.
std::vector<std::string> stale_notes(const ThresholdTable& table);

}  // namespace nsa::cli
