// The optimisations that users planned for their program, with the gain that they expected of each.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nsa::run_tables {

/// One step of the plan. The claims are those of report 000, "Expected Performance Improvements".
struct LadderStep {
  const char* name;
  /// What it sets beside the steps before; an empty value takes a variable away.
  std::vector<std::pair<std::string, std::string>> sets;
  bool tuned;                        // from here on the thresholds files decide
  double claimed_low, claimed_high;  // speed-up by this step
  const char* stands_for;            // what of the plan is switched here
};

std::span<const LadderStep> ladder();

}  // namespace nsa::run_tables
