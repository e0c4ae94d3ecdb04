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

inline std::int64_t length_of(const Problem& p, Length length) noexcept {
  if (length == Length::selected_row) return longest_selected_row(p);
  return axis_value(p, static_cast<Axis>(length));
}

}  // namespace nsa::routing
