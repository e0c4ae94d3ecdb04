// The selected branch on the CPU: q, k_sel, v_sel, blocks or ranges -> o_sel.
// The table alone includes this: a unit that did would have a new hash with every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::cpu {

void selected_masked(const LaunchArgs& args);
void selected_kv_expanded(const LaunchArgs& args);
void selected_ranges(const LaunchArgs& args);
void selected_gather(const LaunchArgs& args);
void selected_packed(const LaunchArgs& args);
void selected_varlen_v1(const LaunchArgs& args);
void selected_varlen_v2(const LaunchArgs& args);
void selected_fused_query(const LaunchArgs& args);
void selected_dense_prefix(const LaunchArgs& args);

std::int64_t selected_masked_bytes(const Problem& problem);
std::int64_t selected_kv_expanded_bytes(const Problem& problem);
std::int64_t selected_ranges_bytes(const Problem& problem);
std::int64_t packed_copies_bytes(const Problem& problem);  // gather, packed
std::int64_t selected_varlen_v1_bytes(const Problem& problem);
std::int64_t selected_varlen_v2_bytes(const Problem& problem);
std::int64_t selected_fused_query_bytes(const Problem& problem);
std::int64_t selected_dense_prefix_bytes(const Problem& problem);

}  // namespace nsa::cpu
