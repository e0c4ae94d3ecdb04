// One process of a cell: what it is started with, and what the cell takes from it.
#pragma once

#include <string>
#include <vector>

#include "measured_cells.hpp"

namespace nsa::cli {

/// What `run` is asked for a cell.
std::vector<std::string> run_flags(const MeasureOptions& options, const run_tables::Asked& asked);
/// What one process of a cell is started with.
std::vector<std::string> run_command(const Settings& settings, const MeasureOptions& options,
                                     const run_tables::Asked& asked);
/// Adds a process by its document (schema run_result) to the cell.
void take_document(run_tables::Cell& cell, const Json& run);
/// Runs one process of a cell. Its document; null where it failed, which the cell then says.
Json visit(const Settings& settings, const MeasureOptions& options, run_tables::Cell& cell);

}  // namespace nsa::cli
