// A plan as --dry-run prints it.
#pragma once

#include <optional>
#include <string>

#include "nsa/reports/style.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/plan.hpp"

namespace nsa::cli {

/// The document of the schema sweep_plan.
Json plan_json(const tuner::Plan& plan, const std::string& device_id);
/// "141 contests left out, of 9 days together: ..." of a plan that leaves some out.
std::string left_out_line(const tuner::Plan& plan);
/// A table for each kind of problem, then how many contests there are, on which device, and how
/// long they take and which are left out as too long; of a budget that they exceed also how many of
/// them it covers.
std::string plan_text(const tuner::Plan& plan, const std::string& device_id,
                      std::optional<double> budget_s, reports::Style style);

}  // namespace nsa::cli
