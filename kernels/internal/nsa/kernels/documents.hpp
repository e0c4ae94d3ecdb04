// What the runtime reports as JSON objects, for programs of this repository that put them into
// documents of their own. Others get the same as text (to_json_text).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "nsa/kernels/routing.hpp"
#include "nsa/kernels/telemetry.hpp"

namespace nsa {

/// A document of schemas/json/explain.schema.json.
nlohmann::ordered_json explain_to_json(const ExplainReport& report);
/// A document of schemas/json/telemetry.schema.json.
nlohmann::ordered_json telemetry_to_json(const TelemetryReport& report);

}  // namespace nsa
