// Which blocks a query selects: q, k_cmp -> blocks (docs/nsa.md 4 and 5).
// The table alone includes this: a unit that did would have a new hash with every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::score {

void materialised(const LaunchArgs& args);
void p_cmp_bf16(const LaunchArgs& args);
std::int64_t materialised_workspace(const Problem& problem);
void streamed(const LaunchArgs& args);
std::int64_t streamed_workspace(const Problem& problem);

}  // namespace nsa::score
