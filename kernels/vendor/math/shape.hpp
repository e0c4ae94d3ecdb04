// How sdpa_math cuts a problem: plain C++, for the table of variants and for the launch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nsa/schemas/problem.hpp"
#include "vendor/branch.hpp"

namespace nsa::vendor {

/// Queries whose logits are there at once, of one KV head's group: keys left of the tile's window
/// are left out, and memory stays in bounds.
inline constexpr std::int64_t kMathQueries = 1024;

/// Elements between rows of logits: they start at multiples of 32 bytes.
constexpr std::int64_t logits_stride(std::int64_t keys) { return (keys + 7) / 8 * 8; }

/// Most keys that a tile of queries sees.
inline std::int64_t most_math_keys(const Problem& p, Band band) {
  if (band == Band::compressed) return num_compressed(p.max_kv_len(), p.geometry);
  const std::int64_t queries = std::min(kMathQueries, p.max_seq_len());
  return std::min(p.max_kv_len(), queries + p.geometry.window - 1);
}

/// Bytes of the logits of one tile.
inline std::int64_t logits_bytes(const Problem& p, Band band) {
  const std::int64_t rows = p.heads_per_group() * std::min(kMathQueries, p.max_seq_len());
  return 4 * rows * logits_stride(most_math_keys(p, band));
}

/// Columns of the fp32 sums of gradients of K or V: they are read by fours.
constexpr std::int64_t sum_width(std::int64_t dim) { return (dim + 3) / 4 * 4; }

/// Bytes of the sums of both in the window branch.
inline std::int64_t window_sum_bytes(const Problem& p) {
  return 4 * p.total_context() * p.kv_heads * (sum_width(p.head_dim_k) + sum_width(p.head_dim_v));
}

}  // namespace nsa::vendor
