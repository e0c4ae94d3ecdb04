// The backward pass of pooling: d_k_cmp, d_v_cmp -> d_k_cmp_raw, d_v_cmp_raw.
// The table alone includes this: a unit that did would have a new hash with every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::compress {

void backward_avg(const LaunchArgs& args);
std::int64_t backward_avg_workspace(const Problem& problem);

}  // namespace nsa::compress
