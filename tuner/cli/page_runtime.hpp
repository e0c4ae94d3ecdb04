// What the runtime counted in `nsatune run`, for a table of the page.
#pragma once

#include "nsa/schemas/json.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {

/// The newest `most` rows, newest first: [{recorded_at, command, peak_workspace_bytes, grow_events,
/// slow_path_calls, engaged, fallback}] as in the schema "telemetry"; what a row lacks is null.
Json runtime_json(const store::Store& db, std::size_t most);

}  // namespace nsa::cli
