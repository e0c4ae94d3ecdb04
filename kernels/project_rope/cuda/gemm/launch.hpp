// What `gemm` and its relatives share with `fused`, which runs them where it cannot run itself.
#pragma once

#include "cuda/gemm/gemm.hpp"
#include "nsa/kernels/launch.hpp"
#include "project_rope/cuda/gemm/rope.hpp"

namespace nsa::project_rope {

/// Outputs, sequences and frequencies of a launch whose product is of that dtype.
RopeParams make_rope_params(const LaunchArgs& args, Dtype product);

/// `gemm_16bit`: the product in the outputs' dtype.
void launch_rounded(const LaunchArgs& args, const cuda::GemmOptions& options);

}  // namespace nsa::project_rope
