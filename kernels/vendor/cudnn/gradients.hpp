// What lies between cuDNN's backward pass and the tensors of a launch.
#pragma once

#include <cstdint>

#include "cuda/backward/params.hpp"

namespace nsa::vendor {

/// Rows of sequences that cuDNN wrote, packed, and the gradient that they belong to. A sequence may
/// have rows in front of those: nobody sees them, and their gradient is 0.
struct PackedGradient {
  const void* from = nullptr;  // [batch, rows, heads, dim]
  std::int64_t batch = 0, rows = 0, heads = 0, dim = 0;
  cuda::GradientTensor to;
  std::int64_t first = 0, step = 0;  // rows of `to`: of the first sequence, to the next one
  std::int64_t unseen = 0;           // of a sequence
};
void put_gradient(const PackedGradient& gradient, Dtype dtype, CUstream_st* stream);

/// The log-sum-exp head by head, as cuDNN reads it.
struct LseGather {
  const float* from = nullptr;  // [batch, rows, heads] by these strides, in elements
  std::int64_t sequence_stride = 0, row_stride = 0, head_stride = 0;
  float* to = nullptr;  // [batch, heads, rows]
  std::int64_t batch = 0, heads = 0, rows = 0;
};
void gather_lse(const LseGather& lse, CUstream_st* stream);

}  // namespace nsa::vendor
