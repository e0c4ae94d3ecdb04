// What `nsatune run` measured, for a table of the page.
#pragma once

#include "nsa/schemas/json.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {

/// The newest `most` results, newest first: [{recorded_at, command, device, tokens_per_s,
/// share_of_peak, memory, grow_events, slow_path_calls, fallback}] as in the schema "run_result";
/// what a result lacks is null.
Json run_results_json(const store::Store& db, std::size_t most);

}  // namespace nsa::cli
