// Ranges of a thresholds file that rest on other code than what would run now.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/thresholds.hpp"
#include "nsa/tuner/plan.hpp"

namespace nsa::cli {

/// Decisions for rows that this build compiles from other files than the measured ones were
/// compiled from, a line each: the runtime will call them stale.
std::vector<std::string> stale_notes(const ThresholdTable& table);

/// The same by what workers offer now, and a line for each variant that the table chooses and its
/// executor does not offer any more. A hash that one side does not say tells nothing.
std::vector<std::string> outdated_ranges(const ThresholdTable& table,
                                         const std::vector<tuner::Candidate>& offered);

}  // namespace nsa::cli
