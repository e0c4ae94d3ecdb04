// Blocked online softmax (FlashAttention-2's order) for a tile of queries that share their keys:
// rows = tokens x heads of a group. Which keys a token may see comes as bits per panel.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "cpu/panels.hpp"

namespace nsa::cpu {

/// Rows of a tile that keep the unit busy and stay near L1 (96 x 64 fp32 = 24 KB of scores).
inline constexpr std::int64_t kTileRows = 96;

/// Tokens of a tile for that many heads.
constexpr std::int64_t tile_tokens(std::int64_t heads) noexcept {
  return heads >= kTileRows ? 1 : (kTileRows / heads < 64 ? kTileRows / heads : 64);
}

/// Memory of one tile per thread.
template <class T>
struct TileMemory {
  std::span<T> q, scores, max, sum, out, row;
  std::span<std::uint64_t> token_masks, row_masks;
  std::int64_t rows = 0, dim_k = 0, out_cols = 0;

  template <class Taker>
  static TileMemory layout(Taker& taker, std::int64_t rows, const PanelShape& shape) {
    TileMemory m;
    m.rows = rows, m.dim_k = shape.dim_k, m.out_cols = shape.out_cols();
    const std::int64_t all = rows * parallel_threads();
    m.q = taker.template take<T>(all * m.dim_k);
    m.scores = taker.template take<T>(all * kPanelKeys);
    m.max = taker.template take<T>(all);
    m.sum = taker.template take<T>(all);
    m.out = taker.template take<T>(all * m.out_cols);
    m.row = taker.template take<T>(parallel_threads() * m.out_cols);
    m.token_masks = taker.template take<std::uint64_t>(all);
    m.row_masks = taker.template take<std::uint64_t>(all);
    return m;
  }
  /// The part of the calling thread.
  TileMemory mine() const;
};

/// One tile: tokens [0, real_tokens) are rows q_row + i of the views, those from real_tokens to
/// tokens are padding (computed, not stored).
template <class T>
struct TileTask {
  TensorView q, out, lse;  // [rows, heads, dim], lse may be absent
  const PackedHead<T>* kv = nullptr;
  std::int64_t q_row = 0, tokens = 0, real_tokens = 0;
  std::int64_t first_head = 0, heads = 0;
  std::int64_t panel_begin = 0, panel_end = 0;
  bool skip = true;  // leave out columns that no token sees; off = dense work with a mask
};

/// masks(panel, bits): fills bits[tokens]; bit c = the token may see key panel * 64 + c.
using MaskOfPanel = std::function<void(std::int64_t, std::uint64_t*)>;

template <class T>
void flash_tile(const TileTask<T>& task, const TileMemory<T>& memory, const MaskOfPanel& masks);

/// Bits [begin, end) of the panel that begins at key `first`.
constexpr std::uint64_t span_bits(std::int64_t begin, std::int64_t end,
                                  std::int64_t first) noexcept {
  const std::int64_t lo = begin > first ? begin - first : 0;
  const std::int64_t hi = end - first < 64 ? end - first : 64;
  if (hi <= lo) return 0;
  const std::uint64_t below_hi = hi == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << hi) - 1;
  return below_hi & ~((std::uint64_t{1} << lo) - 1);
}

}  // namespace nsa::cpu
