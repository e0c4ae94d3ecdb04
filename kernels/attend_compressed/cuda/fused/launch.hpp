// The compressed branch alone: one function per storage type, each compiled in a file of its own.
#pragma once

#include "cuda/flash/attend_params.hpp"

struct CUstream_st;

namespace nsa::cuda {

void compressed_fp32(const AttendParams& p, CUstream_st* stream);
void compressed_bf16(const AttendParams& p, CUstream_st* stream);
void compressed_fp16(const AttendParams& p, CUstream_st* stream);

}  // namespace nsa::cuda
