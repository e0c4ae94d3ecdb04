// Commands below `db`: names for runs, many databases into one, samples of old runs dropped.
#pragma once

#include "program.hpp"

namespace nsa::cli {

/// `db label`: names for runs.
void add_db_label(Program& program, CLI::App& db);

/// `db merge`: many databases into one.
void add_db_merge(Program& program, CLI::App& db);

/// `db prune`: samples of old runs are dropped, aggregates stay.
void add_db_prune(Program& program, CLI::App& db);

}  // namespace nsa::cli
