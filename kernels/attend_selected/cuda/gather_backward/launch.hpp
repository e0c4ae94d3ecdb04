// `gather` backward: one function per storage type, each compiled in a file of its own.
#pragma once

#include "cuda/backward/params.hpp"
#include "cuda/launch/typed_kernels.hpp"

struct CUstream_st;

namespace nsa::cuda {

/// Rows (query, KV head) from `first` on, and where the gradients of their keys are added up.
struct GatherRows {
  std::int64_t first = 0, count = 0;
  float* sums = nullptr;  // [rows of K and V, kv_heads, width of K + width of V]; K's not scaled
};

void gather_gradients_fp32(const BackwardParams&, const GatherRows&, CUstream_st*);
void gather_gradients_bf16(const BackwardParams&, const GatherRows&, CUstream_st*);
void gather_gradients_fp16(const BackwardParams&, const GatherRows&, CUstream_st*);
inline constexpr TypedKernels kGatherGradients{gather_gradients_fp32, gather_gradients_bf16,
                                               gather_gradients_fp16};

}  // namespace nsa::cuda
