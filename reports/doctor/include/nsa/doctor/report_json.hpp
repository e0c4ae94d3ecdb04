// Documents of `doctor --json` (schema doctor) and `doctor --list --json` (schema doctor_rules).
#pragma once

#include "nsa/doctor/rule.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::doctor {

Json to_document(const Report& report);
Json rules_document();

}  // namespace nsa::doctor
