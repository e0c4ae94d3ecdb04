// db label: names for runs.
#pragma once

#include "program.hpp"

namespace nsa::cli {

void add_db_label(Program& program, CLI::App& db);

}  // namespace nsa::cli
