// db merge: many databases into one.
#pragma once

#include "program.hpp"

namespace nsa::cli {

void add_db_merge(Program& program, CLI::App& db);

}  // namespace nsa::cli
