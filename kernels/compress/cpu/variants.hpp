// Pooling of raw keys and values: k_cmp_raw, v_cmp_raw -> k_cmp, v_cmp.
// The table alone includes this: a unit that did would have a new hash with every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::compress {

void avg(const LaunchArgs& args);
std::int64_t avg_workspace(const Problem& problem);

void backward_avg(const LaunchArgs& args);
std::int64_t backward_avg_workspace(const Problem& problem);

}  // namespace nsa::compress
