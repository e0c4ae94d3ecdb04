// `fused`: the product of all projections and RoPE in one kernel, without a tensor between them.
#pragma once

#include "project_rope/cuda/gemm/rope.hpp"

namespace nsa::project_rope {

/// Whether TMA can read x and w, and 16 bytes of output can be written at a time
/// (`rope.vectors`): rows start at multiples of 16 bytes.
bool fused_takes(const RopeParams& rope, const TensorView& x, const TensorView& w);

/// Enqueues the kernel: x [tokens, model_dim], w [columns, model_dim] in bf16 or fp16. Of `rope`
/// the product and its strides are not read.
void project_and_rotate(const RopeParams& rope, const TensorView& x, const TensorView& w,
                        CUstream_st* stream);

}  // namespace nsa::project_rope
