// The lengths that decisions and switches compare, in tokens.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa::routing {

/// An axis of a decision, or the longest row of selected tokens (NSA_SEL_VARLEN_MIN_L).
enum class Length : std::uint8_t { seq_len, context_len, row_len, compressed_len, selected_row };

/// The longest row of selected tokens of a problem.
std::int64_t longest_selected_row(const Problem& p) noexcept;

/// axis_value(), which takes twice as long for one sequence: a tenth of a choice.
inline std::int64_t length_of(const Problem& p, Axis axis) noexcept {
  const bool one = p.seq_lens.size() == 1;
  switch (axis) {
    case Axis::seq_len:
      return one ? p.seq_lens.front() : p.max_seq_len();
    case Axis::context_len:
      return one ? p.context_lens.front() : p.max_context();
    default:
      break;
  }
  const std::int64_t kv = one ? p.seq_lens.front() + p.context_lens.front() : p.max_kv_len();
  return axis == Axis::row_len ? std::min(kv, p.geometry.window) : num_compressed(kv, p.geometry);
}
inline std::int64_t length_of(const Problem& p, Length length) noexcept {
  if (length == Length::selected_row) return longest_selected_row(p);
  return length_of(p, static_cast<Axis>(length));
}

}  // namespace nsa::routing
