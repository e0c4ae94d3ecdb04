// The document of `trace summary --json` (schema trace_summary).
#pragma once

#include "nsa/schemas/json.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::trace {

/// Schema trace_summary. What could not be told is null, with its reason under `null_reasons`.
Json to_document(const Summary& summary);
/// The same of several recordings merged, with the document of each under `ranks`.
Json to_document(const Summary& merged, const std::vector<Summary>& ranks);

}  // namespace nsa::trace
