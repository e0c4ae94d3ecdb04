// The gate over the three branches: q, o_cmp, o_sel, o_win, fc1_w, fc1_b, fc2_w, fc2_b -> o.
// The table alone includes this: a unit that did would have a new hash with every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::gate_combine {

void three_steps(const LaunchArgs& args);
void gate_fused(const LaunchArgs& args);
std::int64_t three_steps_workspace(const Problem& problem);
std::int64_t gate_fused_workspace(const Problem& problem);

void backward_gate_fused(const LaunchArgs& args);
std::int64_t backward_gate_fused_workspace(const Problem& problem);

}  // namespace nsa::gate_combine
