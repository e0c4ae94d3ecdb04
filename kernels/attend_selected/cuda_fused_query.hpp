// `fused_query`: one function per storage type, each compiled in a file of its own.
#pragma once

#include "cuda/attend_params.hpp"

struct CUstream_st;

namespace nsa::cuda {

/// Values of the coordinate `t`, the most queries of a tile: 7 warps with two queries each, or 15;
/// where registers do not hold 15, 11 warps with two or one.
inline constexpr std::int64_t kSmallQueryTile = 14, kLargeQueryTile = 30;

void fused_query_fp32(const AttendParams& p, std::int64_t tile, CUstream_st* stream);
void fused_query_bf16(const AttendParams& p, std::int64_t tile, CUstream_st* stream);
void fused_query_fp16(const AttendParams& p, std::int64_t tile, CUstream_st* stream);

}  // namespace nsa::cuda
