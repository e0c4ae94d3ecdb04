// A result of `run` in the database: a run of its own, with its environment and libraries.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nsa/store/store.hpp"
#include "options.hpp"

namespace nsa::cli {

/// A run that begins now, and what is known of its surroundings.
struct RunRecord {
  Run run;
  std::vector<Capability> libraries;
};

RunRecord begin_record(const Device& device, const RunPlan& plan);
/// The variables in the fingerprint, and all NSATUNE_ ones, by name.
std::map<std::string, std::string> variables_of(const Environment& environment);
/// Ends the run and adds it with its document (schema run_result).
void keep_record(store::Store& db, RunRecord record, const Json& report);
/// Whether it is a run of `run`: no sweep, and without measurements.
bool is_run_record(const Run& run);

}  // namespace nsa::cli
