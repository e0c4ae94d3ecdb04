// One function per storage type, each compiled in a file of its own.
#pragma once

#include "cuda/flash/attend_params.hpp"

struct CUstream_st;

namespace nsa::cuda {

void window_fp32(const AttendParams& p, CUstream_st* stream);
void window_bf16(const AttendParams& p, CUstream_st* stream);
void window_fp16(const AttendParams& p, CUstream_st* stream);

}  // namespace nsa::cuda
