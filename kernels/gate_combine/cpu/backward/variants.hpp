// The backward pass of the gate over the three branches: what it read, and d_o -> the gradients of
// what it read.
// The table alone includes this: a unit that did would have a new hash with every new row.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::gate_combine {

void backward_gate_fused(const LaunchArgs& args);
std::int64_t backward_gate_fused_workspace(const Problem& problem);

}  // namespace nsa::gate_combine
