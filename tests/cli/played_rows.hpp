// Rows of our own variants with known times: a played world in place of the machine, whose load
// would decide whether a test passes.
#pragma once

#include <string>
#include <vector>

#include "program.hpp"

namespace nsa::test {

/// Sweeps `spec` in each of `worlds` (scripts of worker-sim) and stores in results.sqlite of
/// `folder`, as one run, what was played: as verified rows that our worker measured on a CPU.
void add_played_rows(const Folder& folder, const std::string& spec,
                     const std::vector<std::string>& worlds);
/// A world of one stage of two variants, of which `later` is the faster one from `crossing` tokens.
std::string world_of(const std::string& stage, const std::string& earlier, const std::string& later,
                     int crossing);

}  // namespace nsa::test
