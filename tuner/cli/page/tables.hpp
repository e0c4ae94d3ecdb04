// Tables of the page: what is behind the fingerprints of environments, and what `nsatune run`
// measured.
#pragma once

#include <optional>
#include <string>

#include "nsa/schemas/json.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {

/// {fingerprint: {fact: value}} of all runs, or of those on one device.
Json environments_json(const store::Store& db, const std::optional<std::string>& device_id);

/// The newest `most` results, newest first: [{recorded_at, command, device, tokens_per_s,
/// share_of_peak, memory, grow_events, slow_path_calls, fallback}] as in the schema "run_result";
/// what a result lacks is null.
Json run_results_json(const store::Store& db, std::size_t most);

}  // namespace nsa::cli
