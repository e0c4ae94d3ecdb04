// Projections and RoPE of the new tokens: x, w_qkv -> q and the three K/V sets, q and K rotated.
// The table alone includes this: a unit that did would have a new hash with every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::project_rope {

void gemm(const LaunchArgs& args);
std::int64_t gemm_workspace(const Problem& problem);

void backward_gemm(const LaunchArgs& args);
std::int64_t backward_gemm_workspace(const Problem& problem);

}  // namespace nsa::project_rope
