// The document of `trace diff --json` (schema trace_diff).
#pragma once

#include "nsa/schemas/json.hpp"
#include "nsa/trace/diff.hpp"

namespace nsa::trace {

/// Schema trace_diff.
Json to_document(const TraceDiff& diff);

}  // namespace nsa::trace
