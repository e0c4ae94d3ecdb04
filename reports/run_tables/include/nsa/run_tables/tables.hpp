// Cells as a table for the terminal and as the `cells` of report_runs.schema.json.
#pragma once

#include <span>
#include <string>

#include "nsa/reports/style.hpp"
#include "nsa/run_tables/cell.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::run_tables {

/// One line a cell: step, tokens per second with their 95 % interval, and the speed-up against the
/// cell `base` of the same length. `base` empty: against the first cell of all.
std::string cells_table(std::span<const Cell> cells, const std::string& base, reports::Style style);
/// The same as the `cells` of report_runs.schema.json.
Json cells_json(std::span<const Cell> cells, const std::string& base);

/// What the cell runs that `whole` does not, and the other way round: why a part can be slower than
/// the whole. Empty where it is not slower.
std::string why_slower(const Cell& part, const Cell& whole);

/// "1,087,534".
std::string grouped(double value);
/// "1,087,534 [1,080,000, 1,095,000]", or "-".
std::string rate_text(const std::optional<Estimate>& rate);
/// "2.5x [2.4, 2.6]", or "-".
std::string ratio_text(const std::optional<Estimate>& ratio);
/// [low, high], or null.
Json interval_json(const std::optional<Estimate>& of);
/// Why a cell has no times; "" where it has some.
std::string reason_text(const Cell& cell);

}  // namespace nsa::run_tables
