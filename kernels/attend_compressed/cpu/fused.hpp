// The compressed branch and the selection at once: q, k_cmp, v_cmp -> o_cmp, blocks (docs/nsa.md 4,
// 5 and 7).
#pragma once

#include <cstdint>

#include "nsa/kernels/launch.hpp"

namespace nsa::attend_compressed {

void cpu_fused(const LaunchArgs& args);
std::int64_t cpu_fused_workspace(const Problem& problem);

}  // namespace nsa::attend_compressed
