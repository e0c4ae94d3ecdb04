// What the script of bisect runs for each commit: bisect step, bisect time.
#pragma once

#include "program.hpp"

namespace nsa::cli {

void add_bisect_step(Program& program, CLI::App& bisect);
void add_bisect_time(Program& program, CLI::App& bisect);

}  // namespace nsa::cli
