// How many rows are copied at a time by the paths that pack K and V on a GPU: plain C++, so that a
// build without CUDA knows it too.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "attend_selected/cuda/rows/row_bound.hpp"

namespace nsa::cuda {

/// Copies stay below this where one row fits at all, so that memory does not grow with S n l'.
inline constexpr std::int64_t kPackBytes = std::int64_t{1} << 30;
inline constexpr std::int64_t kPackAlignment = 256;  // of each tensor of the workspace
inline constexpr std::int64_t kListedBytes = 16;     // of a row of a list

/// Coordinates of the rows that take copies: `packed` reserves for so many rows of n l' keys,
/// `varlen_v2` for so many keys. 0: what a launch needs, so that the workspace grows when a later
/// one needs more.
inline constexpr std::string_view kReserveRows = "reserve_rows", kReserveKeys = "reserve_keys";
inline constexpr std::array<std::int64_t, 2> kRowReserves{0, 4096};
inline constexpr std::array<std::int64_t, 2> kKeyReserves{0, std::int64_t{4} << 20};

inline std::int64_t packed_key_bytes(const Problem& p) {
  return (p.head_dim_k + p.head_dim_v) * static_cast<std::int64_t>(size_of(p.dtype));
}
/// Rows of `keys` keys each that are copied at a time.
inline std::int64_t packed_rows_at_once(const Problem& p, std::int64_t keys) {
  const std::int64_t fit = kPackBytes / (std::max<std::int64_t>(keys, 1) * packed_key_bytes(p));
  return std::clamp<std::int64_t>(fit, 1, p.total_tokens() * p.kv_heads);
}
/// Upper bound of what the packing paths take: copies, a list, lengths and a sum.
inline std::int64_t pack_workspace(const Problem& p) {
  const std::int64_t bound = row_key_bound(p), rows = p.total_tokens() * p.kv_heads;
  const std::int64_t copies = std::min(std::max(kPackBytes, bound * packed_key_bytes(p)),
                                       rows * bound * packed_key_bytes(p));
  const std::int64_t reserved = std::max(kRowReserves.back() * bound, kKeyReserves.back());
  return std::max(copies, reserved * packed_key_bytes(p)) +
         std::max(rows, kRowReserves.back()) * (kListedBytes + 4) + 4 * kPackAlignment;
}

}  // namespace nsa::cuda
