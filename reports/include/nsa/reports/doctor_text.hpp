// What `doctor` prints.
#pragma once

#include <string>

#include "nsa/doctor/rule.hpp"
#include "nsa/reports/style.hpp"

namespace nsa::reports {

/// Findings with their evidence, gain and advice, for a terminal.
std::string doctor_text(const doctor::Report& report, Style style);
/// The table of rules.
std::string doctor_rules_table(Style style);
/// docs/doctor.md.
std::string doctor_markdown();

}  // namespace nsa::reports
