// What users expected of each optimisation against what it gives.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nsa/reports/style.hpp"
#include "nsa/run_tables/cell.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::run_tables {

/// One step of the ladder at one length.
struct Claim {
  std::string name, stands_for;
  std::int64_t seq_len = 0;
  double claimed_low = 1, claimed_high = 1;  // speed-up by this step
  std::optional<Estimate> step;              // measured, against the step before
  std::optional<Estimate> all;               // against the baseline
  std::string reason;                        // why there is nothing
  const Cell* cell = nullptr;
};

/// Cells of ladder_grid, length by length, which outlive the claims.
std::vector<Claim> claims_of(std::span<const Cell> cells);
/// "kept", "not kept" or "unclear" (the interval holds the claim's lower end), "-" without times.
const char* kept(const Claim& claim) noexcept;
/// A table for the terminal.
std::string claims_table(std::span<const Claim> claims, reports::Style style);
/// The `claims` of report_runs.schema.json.
Json claims_json(std::span<const Claim> claims);

}  // namespace nsa::run_tables
