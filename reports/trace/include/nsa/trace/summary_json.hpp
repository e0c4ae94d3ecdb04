// The document of `trace summary --json` (schema trace_summary).
#pragma once

#include "nsa/schemas/json.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::trace {

Json to_document(const Summary& summary);

}  // namespace nsa::trace
