// Cells that the database has already.
#pragma once

#include <vector>

#include "measured_cells.hpp"

namespace nsa::cli {

/// For each cell the documents of `run` that answer it, the newest first: of this build, on this
/// device, by the same command with the same NSA_* variables. Empty without a database.
std::vector<std::vector<Json>> known_documents(const Settings& settings,
                                               const MeasureOptions& options,
                                               const std::vector<run_tables::Asked>& asked);

}  // namespace nsa::cli
