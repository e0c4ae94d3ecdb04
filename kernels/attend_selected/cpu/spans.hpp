// What a query selected, read from `blocks` or `ranges` and brought into order.
#pragma once

#include <cstdint>
#include <span>

#include "nsa/kernels/launch.hpp"

namespace nsa::cpu {

/// Keys [begin, end) of a sequence, by position.
struct TokenSpan {
  std::int64_t begin = 0, end = 0;
};

/// The spans of one row of ranges [tokens, kv_heads, sel_count, 2]: ascending, disjoint, none
/// empty, no key after position t; a key in several ranges is there once. `out` has room for
/// sel_count. Returns how many there are.
std::int64_t row_spans(const TensorView& ranges, std::int64_t row, std::int64_t kv_head,
                       std::int64_t t, TokenSpan* out);

/// Keys in disjoint spans.
std::int64_t length_of(std::span<const TokenSpan> spans);
/// The most keys that a row of this problem has: n l', or all.
std::int64_t longest_row(const Problem& p);

/// The blocks of one row of blocks [tokens, kv_heads, sel_count]: ascending, each once, none after
/// the block of position t. `out` has room for sel_count. Returns how many there are.
std::int64_t row_blocks(const TensorView& blocks, std::int64_t row, std::int64_t kv_head,
                        std::int64_t t, std::int64_t sel_block, std::int64_t* out);

/// One query row of one group.
struct SelectedRow {
  const Sequence* sequence = nullptr;
  std::int64_t q_row = 0;     // in q and out
  std::int64_t position = 0;  // t
  std::int64_t kv_head = 0;
};

/// Rows counted over sequences, then groups, then tokens: row i of that order.
class RowIndex {
 public:
  RowIndex(std::span<const Sequence> sequences, std::int64_t kv_heads)
      : sequences_(sequences), kv_heads_(kv_heads) {}
  std::int64_t size() const noexcept;
  SelectedRow operator[](std::int64_t i) const noexcept;

 private:
  std::span<const Sequence> sequences_;
  std::int64_t kv_heads_;
};

}  // namespace nsa::cpu
