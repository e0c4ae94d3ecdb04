// Rates in the database that answer targets.
#pragma once

#include <vector>

#include "nsa/run_tables/targets.hpp"
#include "program.hpp"

namespace nsa::cli {

/// Rates of whole forward passes in the database: verified rows of sweeps over whole models, and
/// results of `run`.
std::vector<run_tables::MeasuredRate> measured_rates(const Settings& settings);

}  // namespace nsa::cli
