// The backward pass of the output projection: o, w_o, d_y -> d_o, d_w_o.
// The table alone includes this: a unit that did would have a new hash with every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::out_proj {

void backward_gemm(const LaunchArgs& args);
std::int64_t backward_gemm_workspace(const Problem& problem);

}  // namespace nsa::out_proj
