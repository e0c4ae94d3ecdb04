// The backward pass of projections and RoPE: x, w_qkv, d_q and the gradients of the K/V sets ->
// d_x, d_w_qkv.
// The table alone includes this: a unit that did would have a new hash with every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::project_rope {

void backward_gemm(const LaunchArgs& args);
std::int64_t backward_gemm_workspace(const Problem& problem);

}  // namespace nsa::project_rope
