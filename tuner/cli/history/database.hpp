// The history of the results database: runs become nights, rows become series.
#pragma once

#include "history.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {

/// A series for each variant, problem and model of device (or board, where two boards of a model
/// were measured on one day); a night for each UTC day on which a run began; a replicate for each
/// fresh process, the median of its rows. A/A controls and held-out rows are left out, a row
/// without a result is a failure. Reads medians, never samples, and one night at a time.
NightlyHistory read_nightly_database(const store::Store& db,
                                     const std::optional<std::string>& device_id);
/// Of a run's build ("0.1.0+abc123def456 GNU ..."): "abc123def456"; empty where it has none.
std::string commit_of_build(const std::string& build_id);

}  // namespace nsa::cli
