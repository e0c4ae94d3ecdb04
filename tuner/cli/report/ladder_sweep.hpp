// The ladder of optimisations from the rows of a sweep of the preset `ladder`.
#pragma once

#include <string>
#include <vector>

#include "nsa/run_tables/cell.hpp"
#include "program.hpp"

namespace nsa::cli {

struct LadderOfSweep {
  std::string about;                    // which run, where, and what the times are sums of
  std::vector<run_tables::Cell> cells;  // as those of ladder_grid
};

/// Each step at the times of the rows that its switches choose there, summed over the stages that
/// the ladder switches, process by process.
/// @param run  "newest", or an id or its beginning. InputError where there is no such run of the
///             preset.
LadderOfSweep ladder_of_sweep(const Settings& settings, const std::string& run);

}  // namespace nsa::cli
