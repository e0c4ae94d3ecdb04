// The tables of the users' reports: `nsatune report matrix` and its like.
#pragma once

#include "cells/measured_cells.hpp"
#include "program.hpp"

namespace nsa::cli {

/// A subcommand of `report` with examples in its help.
CLI::App* add_table(Program& program, CLI::App& report, const char* name, const char* about,
                    const std::string& examples, std::function<ExitCode()> run);
/// 3 where no cell has a time.
ExitCode exit_code_of(const std::vector<run_tables::Cell>& cells);
/// The document of report_runs.schema.json without the parts of a table of its own.
Json cells_document(const char* report, const MeasuredCells& measured, const std::string& base);

// Each adds its subcommand.
void add_report_bundle(Program& program, CLI::App& report);     // bundle
void add_report_cells(Program& program, CLI::App& report);      // matrix, paths, ablations, batch
void add_report_claims(Program& program, CLI::App& report);     // claims
void add_report_eta(Program& program, CLI::App& report);        // eta
void add_report_scaling(Program& program, CLI::App& report);    // scaling
void add_report_memory(Program& program, CLI::App& report);     // memory
void add_report_selection(Program& program, CLI::App& report);  // selection
void add_report_targets(Program& program, CLI::App& report);    // targets

/// Adds the subcommands to `report`.
void add_report_runs(Program& program, CLI::App& report);

}  // namespace nsa::cli
