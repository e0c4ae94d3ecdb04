// RoPE of a product of all projections, and its spreading over the outputs (docs/nsa.md 2).
#pragma once

#include <array>
#include <cstdint>

#include "nsa/kernels/launch.hpp"
#include "project_rope/cuda/gemm/product.hpp"

struct CUstream_st;

namespace nsa::project_rope {

/// One of the seven outputs and the columns of the product that go there.
struct RopePart {
  void* out = nullptr;  // [tokens, heads, dim]; null: not wanted
  std::int64_t row_stride = 0, head_stride = 0;
  int column = 0, heads = 0, dim = 0;
  bool rotated = false;
};

struct RopeParams {
  const void* product = nullptr;  // [count, columns] of the tokens from `first_token`
  std::int64_t columns = 0, first_token = 0, count = 0;
  std::array<RopePart, 7> parts;
  const Sequence* sequences = nullptr;  // on the device
  std::int64_t batch = 0;
  int pairs = 0;         // of a rotated head
  bool rounded = false;  // the product is in the outputs' dtype, not in fp32
  bool vectors = false;  // dims, strides and addresses allow 16 bytes of output at a time
  std::array<double, kCudaMaxPairs> frequencies{};  // angle of a pair per position
};

/// Enqueues the kernel for outputs of that dtype.
void rotate_and_spread(const RopeParams& params, Dtype dtype, CUstream_st* stream);

}  // namespace nsa::project_rope
