// Forced blocks and the best of the others, exactly: score descending, ties to the lower index, NaN
// as -inf.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/forced_blocks.hpp"

namespace nsa::score {

/// Blocks that have a score to compete with: 1 .. cur - 2, all of them complete.
inline std::int64_t candidates(std::int64_t position, const Geometry& g) noexcept {
  return std::max<std::int64_t>(0, position / g.sel_block - 2);
}

/// Writes the row [sel_count]: ascending, -1 in front. `scores` [cur + 1] are changed (NaN);
/// `order` is scratch, [candidates].
template <class T>
void top_blocks(T* scores, std::int64_t position, const Geometry& g, std::int32_t* order,
                std::int32_t* row) {
  const ForcedBlocks forced = forced_blocks(position, g);
  const std::int64_t count = candidates(position, g);
  const std::int64_t picks = std::min(g.sel_count - forced.count, count);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t block = i + 1;
    if (std::isnan(scores[block])) scores[block] = -std::numeric_limits<T>::infinity();
    order[i] = static_cast<std::int32_t>(block);
  }
  if (picks < count) {
    std::nth_element(order, order + picks, order + count, [&](std::int32_t a, std::int32_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
  }
  const std::int64_t unused = g.sel_count - forced.count - picks;
  std::fill_n(row, unused, -1);
  std::copy_n(order, picks, row + unused);
  for (std::int64_t i = 0; i < forced.count; ++i) {
    row[unused + picks + i] = static_cast<std::int32_t>(forced.ids[static_cast<std::size_t>(i)]);
  }
  std::sort(row + unused, row + g.sel_count);
}

}  // namespace nsa::score
