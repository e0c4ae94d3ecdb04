// The backward pass of the window branch on the CPU: q, k_win, v_win, o_win, d_o_win -> d_q,
// d_k_win, d_v_win. The table alone includes this: a unit that did would have a new hash with every
// new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::attend_window {

void backward_fa2_varlen(const LaunchArgs& args);
std::int64_t backward_fa2_varlen_bytes(const Problem& problem);

}  // namespace nsa::attend_window
