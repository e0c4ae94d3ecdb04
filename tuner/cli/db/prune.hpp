// db prune: samples of old runs are dropped.
#pragma once

#include "program.hpp"

namespace nsa::cli {

void add_db_prune(Program& program, CLI::App& db);

}  // namespace nsa::cli
