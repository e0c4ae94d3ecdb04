// The document of `trace summary --json` (schema trace_summary).
#pragma once

#include "nsa/schemas/json.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::trace {

Json to_document(const Summary& summary);
/// The same of several recordings merged, with the document of each under `ranks`.
Json to_document(const Summary& merged, const std::vector<Summary>& ranks);

}  // namespace nsa::trace
