// From the seven gradients of q, K and V to that of the product of all projections: rotations are
// turned back.
#pragma once

#include "project_rope/cuda/gemm/rope.hpp"

namespace nsa::project_rope {

struct UnropeParams {
  RopeParams rope;  // its parts are the gradients, its product is not used
  void* product =
      nullptr;  // [count, columns] of the tokens from first_token, in the launch's dtype
  std::array<bool, 7> fp32{};  // a gradient that is in fp32; the others are in the launch's dtype
};

/// Gradients of parts that are absent are zeros.
void gather_and_unrotate(const UnropeParams& params, Dtype dtype, CUstream_st* stream);

}  // namespace nsa::project_rope
