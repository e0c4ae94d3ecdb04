// The compressed branch on the CPU: q, k_cmp, v_cmp -> o_cmp.
// The table alone includes this: a unit that did would have a new hash with every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::attend_compressed {

void sdpa_math(const LaunchArgs& args);
void fa2_dense(const LaunchArgs& args);
void fa2_varlen(const LaunchArgs& args);
std::int64_t sdpa_math_bytes(const Problem& problem);
std::int64_t fa2_dense_bytes(const Problem& problem);
std::int64_t fa2_varlen_bytes(const Problem& problem);

}  // namespace nsa::attend_compressed
