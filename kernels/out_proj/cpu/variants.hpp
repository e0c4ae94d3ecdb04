// Output projection: o [tokens, q_heads, head_dim_v], w_o -> y [tokens, model_dim].
// The table alone includes this: a unit that did would have a new hash with every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::out_proj {

void gemm(const LaunchArgs& args);
std::int64_t gemm_workspace(const Problem& problem);

void backward_gemm(const LaunchArgs& args);
std::int64_t backward_gemm_workspace(const Problem& problem);

}  // namespace nsa::out_proj
