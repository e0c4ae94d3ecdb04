// explain() for a person.
#pragma once

#include <string>

#include "nsa/kernels/routing.hpp"
#include "nsa/reports/style.hpp"

namespace nsa::reports {

/// What runs for one problem, why, on what evidence, what overrides what and what that costs.
std::string explain_text(const ExplainReport& report, Style style);

}  // namespace nsa::reports
