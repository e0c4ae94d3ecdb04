// Gradients of K and V from sums that were made somewhere else.
#pragma once

#include "cuda/backward/params.hpp"

namespace nsa::cuda {

/// Writes them from fp32 sums [rows, kv_heads, width_k + width_v], those of K not scaled yet.
void put_keys(const BackwardParams& p, const float* sums, int width_k, int width_v, Dtype dtype,
              CUstream_st* stream);

}  // namespace nsa::cuda
