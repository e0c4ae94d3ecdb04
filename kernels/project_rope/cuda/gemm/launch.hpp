// What `gemm` and its relatives share with `fused`, which runs them where it cannot run itself.
#pragma once

#include "cuda/gemm/gemm.hpp"
#include "operands/model.hpp"
#include "project_rope/cuda/gemm/rope.hpp"

namespace nsa::project_rope {

/// Outputs, sequences and frequencies of a launch whose product is of that dtype.
RopeParams make_rope_params(const LaunchArgs& args, Dtype product);
/// The same of other tensors in the places of the outputs.
RopeParams make_rope_params(const LaunchArgs& args, const std::array<Projection, 7>& projections,
                            Dtype product);

/// `gemm_16bit`: the product in the outputs' dtype.
void launch_rounded(const LaunchArgs& args, const cuda::GemmOptions& options);

}  // namespace nsa::project_rope
