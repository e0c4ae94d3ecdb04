// Documents of `doctor --json` (schema doctor) and `doctor --list --json` (schema doctor_rules).
#pragma once

#include "nsa/doctor/rule.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::doctor {

/// Schema doctor.
Json to_document(const Report& report);
/// All rules, in the order of the table: schema doctor_rules.
Json rules_document();

}  // namespace nsa::doctor
