// report results, report compare: runs of the past, as good as new ones.
#pragma once

#include "program.hpp"

namespace nsa::cli {

/// Adds the subcommands to `report`.
void add_report_runs(Program& program, CLI::App& report);

}  // namespace nsa::cli
