// cuDNN writes its log-sum-exp head by head; the caller's lies token by token.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace nsa::vendor {

struct LseSpread {
  const float* from = nullptr;  // [batch, heads, rows]
  std::int64_t batch = 0, heads = 0, rows = 0;
  float* to = nullptr;  // [batch, rows, heads] by these strides, in elements
  std::int64_t sequence_stride = 0, row_stride = 0, head_stride = 0;
};
void spread_lse(const LseSpread& spread, CUstream_st* stream);

}  // namespace nsa::vendor
