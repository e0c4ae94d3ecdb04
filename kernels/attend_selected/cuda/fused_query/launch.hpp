// `fused_query`: one function per storage type, each compiled in a file of its own.
#pragma once

#include "cuda/flash/attend_params.hpp"

struct CUstream_st;

namespace nsa::cuda {

/// Values of the coordinate `bq`, the most queries of a tile: 7 warps with two queries each, or 15;
/// where registers do not hold 15, 11 warps with two or one.
inline constexpr std::int64_t kSmallQueryTile = 14, kLargeQueryTile = 30;

/// The tile of a launch whose point does not name one. On an H200 the larger one is faster in
/// sequences of 8192 tokens and more (12 query and 2 KV heads of 64: 179 and 191 us there, 82 and
/// 80 at 4096; heads of 128 from 3,800 on), and never in a decode step.
inline std::int64_t default_query_tile(const Problem& p) {
  return p.max_seq_len() > 4096 ? kLargeQueryTile : kSmallQueryTile;
}

void fused_query_fp32(const AttendParams& p, std::int64_t tile, CUstream_st* stream);
void fused_query_bf16(const AttendParams& p, std::int64_t tile, CUstream_st* stream);
void fused_query_fp16(const AttendParams& p, std::int64_t tile, CUstream_st* stream);

/// The one of the launch's storage type, with the tile that its point names. Takes any rows.
void fused_query(const AttendParams& p, const LaunchArgs& args);

}  // namespace nsa::cuda
