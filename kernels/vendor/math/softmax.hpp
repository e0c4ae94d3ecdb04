// The softmax between the two products of sdpa_math.
#pragma once

#include <cstdint>

#include "nsa/kernels/tensor.hpp"
#include "vendor/branch.hpp"

struct CUstream_st;

namespace nsa::vendor {

/// Logits of `heads` heads and `rows` queries with `keys` keys each, fp32, and where the weights
/// go: the same memory, in the problem's dtype, each row at its start.
struct LogitTile {
  float* data = nullptr;  // [heads, rows, keys], rows `row_stride` and heads `head_stride` apart
  std::int64_t row_stride = 0, head_stride = 0;
  int heads = 0, rows = 0, keys = 0;
  std::int64_t first_position = 0;  // of the first query
  std::int64_t first_key = 0;       // position of the first key, or its compressed number
  Band band = Band::window;
  int window = 0, cmp_block = 0, cmp_stride = 0;
  float* lse = nullptr;  // [rows, heads] natural logarithm, -inf where no key is seen; or null
  std::int64_t lse_row_stride = 0, lse_head_stride = 0;
};

/// logits -> weights. Keys that a query does not see get a weight of 0.
void softmax_in_place(const LogitTile& tile, Dtype dtype, CUstream_st* stream);

/// 0 in every element of a batch [heads, rows, dim] of fp32, bf16 or fp16.
void zero_rows(const TensorView& batch, CUstream_st* stream);

}  // namespace nsa::vendor
