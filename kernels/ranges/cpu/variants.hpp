// Block ids to token ranges: blocks -> ranges. Both rows give the rules of docs/nsa.md 6: ids that
// are negative, out of range, repeated or in the query's future are skipped; neighbours are merged.
// The table alone includes this: a unit that did would have a new hash with every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::ranges {

void v1(const LaunchArgs& args);
void v2(const LaunchArgs& args);
std::int64_t v2_workspace(const Problem& problem);

}  // namespace nsa::ranges
