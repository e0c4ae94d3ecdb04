// Vendor kernels want rows that start at multiples of 16 bytes, some of them a contiguous output.
// Whatever the caller's strides are, the answer is the same: what does not fit is copied.
#pragma once

#include "operands/attend.hpp"

namespace nsa::vendor {

/// A tensor [rows, heads, dim], or a copy of it in the workspace.
TensorView aligned(const TensorView& tensor, const LaunchArgs& args);

/// The tensors of a window or compressed launch, or copies of them in the workspace; o is only room
/// where it does not fit. The caller's WorkspaceScope gives the room back.
BandTensors aligned_tensors(const LaunchArgs& args, Branch branch, bool contiguous_output);
/// Copies o to the caller's, where it is not the caller's.
void give_back(const BandTensors& tensors, const LaunchArgs& args);

}  // namespace nsa::vendor
