// `masked` and `masked_blocks`: one function per storage type, each compiled in a file of its own.
#pragma once

#include "cuda/flash/attend_params.hpp"
#include "cuda/launch/typed_kernels.hpp"

struct CUstream_st;

namespace nsa::cuda {

void masked_fp32(const AttendParams& p, CUstream_st* stream);
void masked_bf16(const AttendParams& p, CUstream_st* stream);
void masked_fp16(const AttendParams& p, CUstream_st* stream);
inline constexpr TypedKernels kMasked{masked_fp32, masked_bf16, masked_fp16};

void masked_blocks_fp32(const AttendParams& p, CUstream_st* stream);
void masked_blocks_bf16(const AttendParams& p, CUstream_st* stream);
void masked_blocks_fp16(const AttendParams& p, CUstream_st* stream);

}  // namespace nsa::cuda
