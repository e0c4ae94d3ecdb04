// Sizes of the tiles of the backward kernels of attention: plain C++, so that a build without CUDA
// knows them too; the kernels' files assert that they agree.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nsa/kernels/support.hpp"
#include "nsa/schemas/device.hpp"
#include "nsa/schemas/problem.hpp"

namespace nsa::cuda {

/// The kernels are compiled for a few widths of K and V, and hold what is not wider.
struct BackwardTile {
  int keys, width_k, width_v;
  bool tensor_cores;           // else fp32 arithmetic in tiles of 32 keys
  std::int64_t shared_bytes;   // of a thread block
  std::int64_t partial_bytes;  // of a number of a partial gradient of q

  int width() const noexcept { return width_k + width_v; }
};

constexpr BackwardTile mma_backward_tile(int width_k, int width_v) {
  const int rows = width_k + width_v <= 128 ? 64 : 32;
  const std::int64_t wide = width_k + width_v + 16;  // with the padding of both rows
  const std::int64_t of_keys =
      (64 * wide + 2 * rows * wide + 64 * (rows + 8)) * 2 + 2 * rows * 24 + 1024 * 4;
  const std::int64_t of_queries = (2 * rows * wide + 64 * wide) * 2;
  return {.keys = 64,
          .width_k = width_k,
          .width_v = width_v,
          .tensor_cores = true,
          .shared_bytes = std::max(of_keys, of_queries),
          .partial_bytes = 2};
}
/// Keys of a wide tile of attention to a band on Hopper, of K and V with so many columns.
inline constexpr int kWideBandKeys = 128, kWideBandColumns = 128;
constexpr BackwardTile simt_backward_tile(int width) {
  const int rows = width <= 128 ? 32 : 16;
  const std::int64_t bytes =
      (2 * (32 + rows) * std::int64_t{width + 4} + 2 * rows * 32) * 4 + rows * 24;
  return {.keys = 32,
          .width_k = width,
          .width_v = width,
          .tensor_cores = false,
          .shared_bytes = bytes,
          .partial_bytes = 4};
}

/// Largest head_dim_k and head_dim_v.
inline constexpr std::int64_t kMaxBackwardDim = 256;

constexpr BackwardTile backward_tile(Dtype dtype, std::int64_t dk, std::int64_t dv) {
  if (dtype == Dtype::fp32) {
    const std::int64_t widest = std::max(dk, dv);
    return simt_backward_tile(widest <= 64 ? 64 : widest <= 128 ? 128 : 256);
  }
  if (dk <= 64 && dv <= 64) return mma_backward_tile(64, 64);
  if (dk <= 128 && dv <= 128) return mma_backward_tile(128, 128);
  if (dk <= 192 && dv <= 128) return mma_backward_tile(192, 128);
  return simt_backward_tile(256);
}
inline BackwardTile backward_tile(const Problem& p) {
  return backward_tile(p.dtype, p.head_dim_k, p.head_dim_v);
}

/// What all backward rows of attention need.
Support supports_backward(const Problem& problem, const Device& device) noexcept;

/// Cuts a number of queries that pass by tiles of keys into items of this many, so that the
/// multiprocessors of a large GPU get some each: not so small that the begin and the end of an item
/// count beside what lies between (three for each multiprocessor of an H200, and some 70 tiles of
/// 64 rows in an item where there are enough).
constexpr std::int64_t queries_of_item(std::int64_t queries, std::int64_t group,
                                       const BackwardTile& tile) {
  constexpr std::int64_t kFewItems = 396, kManyItems = 1024, kRows = 4608, kLeastRows = 192,
                         kMost = 1024;
  const std::int64_t items =
      tile.tensor_cores ? std::clamp(queries * group / kRows, kFewItems, kManyItems) : kManyItems;
  const std::int64_t least = (kLeastRows + group - 1) / group;
  return std::clamp((queries + items - 1) / items, std::min(least, kMost), kMost);
}

}  // namespace nsa::cuda
