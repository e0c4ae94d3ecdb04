// The backward pass of the compressed branch on the CPU: q, k_cmp, v_cmp, o_cmp, d_o_cmp -> d_q,
// d_k_cmp, d_v_cmp. The table alone includes this: a unit that did would have a new hash with every
// new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::attend_compressed {

void backward_fa2_varlen(const LaunchArgs& args);
std::int64_t backward_fa2_varlen_bytes(const Problem& problem);

}  // namespace nsa::attend_compressed
