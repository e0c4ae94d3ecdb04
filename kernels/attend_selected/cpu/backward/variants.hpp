// The backward pass of the selected branch: q, k_sel, v_sel, blocks or ranges, o_sel, d_o_sel ->
// d_q, d_k_sel, d_v_sel. The table alone includes this: a unit that did would have a new hash with
// every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::cpu {

void selected_backward_fused_block(const LaunchArgs& args);
void selected_backward_fused_query(const LaunchArgs& args);
void selected_backward_masked(const LaunchArgs& args);
void selected_backward_ranges(const LaunchArgs& args);
std::int64_t selected_backward_fused_block_bytes(const Problem& problem);
std::int64_t selected_backward_fused_query_bytes(const Problem& problem);
std::int64_t selected_backward_masked_bytes(const Problem& problem);
std::int64_t selected_backward_ranges_bytes(const Problem& problem);

}  // namespace nsa::cpu
