// The backward pass of attention to a band, for the stages that are that.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::cuda {

/// K's and V's gradients by tiles of keys, q's by tiles of queries. Bit-identical from launch to
/// launch.
void band_backward(const LaunchArgs& args, Branch branch);

}  // namespace nsa::cuda
