// The file of expected rates.
#pragma once

#include <string>
#include <vector>

#include "nsa/run_tables/targets.hpp"
#include "program.hpp"

namespace nsa::cli {

/// Targets of a JSON or YAML file. InputError with the path where it is no such file.
std::vector<run_tables::Target> load_targets(const std::string& path);
/// Prints the table, or the document of report_targets.schema.json.
void print_targets(const Settings& settings, const std::vector<run_tables::JudgedTarget>& judged,
                   const std::string& file);

}  // namespace nsa::cli
