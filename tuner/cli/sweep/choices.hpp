// What `tune` would choose from the rows of a run, for the marks of a table of results.
#pragma once

#include "nsa/reports/tables.hpp"
#include "nsa/store/store.hpp"

namespace nsa::cli {

/// Decides from the run's rows as `tune --run` does, for each executor that has some.
reports::ChosenOf choices_of_run(const store::Store& db, const Run& run);

}  // namespace nsa::cli
