// Vendor kernels want rows that start at multiples of 16 bytes, some of them a contiguous output.
// Whatever the caller's strides are, the answer is the same: what does not fit is copied.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::vendor {

/// q, k, v and o of a branch as the kernel takes them.
struct BranchTensors {
  TensorView q;  // [tokens, q_heads, dk]
  TensorView k;  // [context_tokens, kv_heads, dk]
  TensorView v;  // [context_tokens, kv_heads, dv]
  TensorView o;  // [tokens, q_heads, dv]
};

/// The tensors of a window or compressed launch, or copies of them in the workspace; o is only room
/// where it does not fit. The caller's WorkspaceScope gives the room back.
BranchTensors aligned_tensors(const LaunchArgs& args, bool contiguous_output);
/// Copies o to the caller's, where it is not the caller's.
void give_back(const BranchTensors& tensors, const LaunchArgs& args);
}  // namespace nsa::vendor
