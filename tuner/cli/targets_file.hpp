// The file of expected rates, and the rates in the database that answer it.
#pragma once

#include <string>
#include <vector>

#include "nsa/run_tables/targets.hpp"
#include "program.hpp"

namespace nsa::cli {

/// Targets of a JSON or YAML file. InputError with the path where it is no such file.
std::vector<run_tables::Target> load_targets(const std::string& path);
/// Rates of whole forward passes in the database: verified rows of sweeps over whole models, and
/// results of `run`.
std::vector<run_tables::MeasuredRate> measured_rates(const Settings& settings);
/// Prints the table, or the document of report_targets.schema.json.
void print_targets(const Settings& settings, const std::vector<run_tables::JudgedTarget>& judged,
                   const std::string& file);

}  // namespace nsa::cli
