// What the kernels that convert blocks to ranges are given.
#pragma once

#include "cuda/flash/attend_device.cuh"
#include "nsa/schemas/error.hpp"
#include "operands/select.hpp"

namespace nsa::ranges {

struct RangesParams {
  const std::int32_t* blocks;  // [tokens, kv_heads, sel_count]
  std::int64_t blocks_row_stride, blocks_head_stride, blocks_id_stride;
  std::int32_t* ranges;  // [tokens, kv_heads, sel_count, 2]
  std::int64_t ranges_row_stride, ranges_head_stride, ranges_pair_stride;
  const Sequence* sequences;
  std::int64_t batch, rows;  // rows: tokens x kv_heads
  int kv_heads, sel_count;
  std::int64_t sel_block;

  /// The sequence of a row's token, the row's position in it, and where its ids and pairs are.
  __device__ Sequence sequence(std::int64_t row) const {
    return cuda::sequence_of_token(sequences, batch, row / kv_heads);
  }
  __device__ std::int64_t position(const Sequence& s, std::int64_t row) const {
    return s.kv_len - s.q_len + row / kv_heads - s.q_begin;
  }
  __device__ const std::int32_t* ids(std::int64_t row) const {
    return blocks + row / kv_heads * blocks_row_stride + row % kv_heads * blocks_head_stride;
  }
  __device__ std::int32_t* pairs(std::int64_t row) const {
    return ranges + row / kv_heads * ranges_row_stride + row % kv_heads * ranges_head_stride;
  }
};

inline RangesParams ranges_params(const LaunchArgs& args) {
  const auto [blocks, ranges] = RangesTensors::of(args);
  const Problem& p = args.problem;
  return {.blocks = blocks.as<const std::int32_t>(),
          .blocks_row_stride = blocks.stride[0],
          .blocks_head_stride = blocks.stride[1],
          .blocks_id_stride = blocks.stride[2],
          .ranges = ranges.as<std::int32_t>(),
          .ranges_row_stride = ranges.stride[0],
          .ranges_head_stride = ranges.stride[1],
          .ranges_pair_stride = ranges.stride[2],
          .sequences = args.device_sequences,
          .batch = p.batch(),
          .rows = p.total_tokens() * p.kv_heads,
          .kv_heads = static_cast<int>(p.kv_heads),
          .sel_count = static_cast<int>(p.geometry.sel_count),
          .sel_block = p.geometry.sel_block};
}

}  // namespace nsa::ranges
