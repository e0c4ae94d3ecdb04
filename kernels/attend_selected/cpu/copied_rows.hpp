// Rows whose selected keys were copied together: what gather, packed and varlen have in common.
#pragma once

#include <algorithm>
#include <vector>

#include "attend_selected/cpu/spans.hpp"
#include "cpu/panels.hpp"
#include "cpu/rows.hpp"
#include "operands/attend.hpp"

namespace nsa::cpu {

/// Copies are made for so many bytes of rows at a time, so that memory does not grow with S.
inline constexpr std::int64_t kCopyBytes = std::int64_t{32} << 20;

/// Row length of the copied K: not a power of two, whose rows would share their cache sets.
constexpr std::int64_t copy_ld(std::int64_t padded) noexcept { return pad_up(padded) + kPad; }

/// One row with its keys: k [dim_k, copy_ld(padded)], v [padded, out_cols]. Keys from `length` to
/// `padded` are zeros that the mask takes out.
template <class T>
struct CopiedRow {
  SelectedRow row;
  std::int64_t length = 0, padded = 0;
  T* k = nullptr;
  T* v = nullptr;
  std::int64_t ld() const noexcept { return copy_ld(padded); }
};

/// Elements of the copies of one row with `padded` keys.
inline std::int64_t copy_elements(const Problem& p, std::int64_t padded) {
  return copy_ld(padded) * p.head_dim_k + padded * pad_up(p.head_dim_v);
}
/// Rows of `padded` keys that are copied at a time: a few per thread at least.
template <class T>
std::int64_t rows_per_chunk(const Problem& p, std::int64_t padded) {
  const auto row_bytes =
      copy_elements(p, std::max<std::int64_t>(1, padded)) * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t rows = std::max<std::int64_t>(kCopyBytes / row_bytes, parallel_threads());
  return std::min(rows, p.total_tokens() * p.kv_heads);
}

template <class T>
struct CopyMemory {
  std::span<T> copies;          // K and V of a chunk of rows
  std::span<T> q, scores, out;  // per thread
  std::span<RowSums<T>> sums;   // per thread [heads]
  std::span<TokenSpan> spans;   // per thread [sel_count]
  std::int64_t q_size = 0, scores_size = 0, out_size = 0;

  template <class Taker>
  static CopyMemory layout(Taker& taker, const Problem& p) {
    const std::int64_t most = longest_row(p), heads = p.heads_per_group();
    CopyMemory m;
    m.q_size = heads * p.head_dim_k;
    m.scores_size = heads * copy_ld(most);
    m.out_size = heads * pad_up(p.head_dim_v);
    m.copies = taker.template take<T>(rows_per_chunk<T>(p, most) * copy_elements(p, most));
    m.q = taker.template take<T>(parallel_threads() * m.q_size);
    m.scores = taker.template take<T>(parallel_threads() * m.scores_size);
    m.out = taker.template take<T>(parallel_threads() * m.out_size);
    m.sums = taker.template take<RowSums<T>>(parallel_threads() * heads);
    m.spans = taker.template take<TokenSpan>(parallel_threads() * p.geometry.sel_count);
    return m;
  }
  /// The calling thread's [sel_count] spans.
  TokenSpan* my_spans(const Problem& p) const {
    return spans.data() + parallel_thread_index() * p.geometry.sel_count;
  }
};

/// Packed K and V of all heads, from which keys are copied in runs.
template <class T>
struct CopySource {
  std::vector<PackedHead<T>> heads;  // [sequences, kv_heads]
  const Sequence* first_sequence = nullptr;
  std::int64_t kv_heads = 0;
  const PackedHead<T>& of(const SelectedRow& row) const {
    return heads[static_cast<std::size_t>((row.sequence - first_sequence) * kv_heads +
                                          row.kv_head)];
  }
};

template <class T, class Taker>
PackedMemory<T> layout_source(Taker& taker, const Problem& p, std::span<const Sequence> sequences) {
  std::int64_t panels = 0;
  for (const Sequence& s : sequences) panels += panels_of(0, s.kv_len, kPanelKeys) * p.kv_heads;
  return PackedMemory<T>::layout(taker, {kPanelKeys, p.head_dim_k, p.head_dim_v}, panels);
}
/// Of a launch that copies from K and V that it packed before.
template <class T>
struct PackedCopies {
  PackedMemory<T> packed;
  CopyMemory<T> copy;

  template <class Taker>
  static PackedCopies layout(Taker& taker, const Problem& p, std::span<const Sequence> sequences) {
    return {layout_source<T>(taker, p, sequences), CopyMemory<T>::layout(taker, p)};
  }
};
template <class T>
CopySource<T> pack_source(const LaunchArgs& args, const SelectedTensors& tensors,
                          const PackedMemory<T>& memory);

/// Copies the spans' keys into `to` and clears what is padding.
template <class T>
void copy_spans(const PackedHead<T>& from, std::span<const TokenSpan> spans,
                const CopiedRow<T>& to);

/// Attention of the heads of one group over the copies of a row.
template <class T>
void attend_copied(const LaunchArgs& args, const SelectedTensors& tensors, const CopiedRow<T>& row,
                   const CopyMemory<T>& memory);

}  // namespace nsa::cpu
