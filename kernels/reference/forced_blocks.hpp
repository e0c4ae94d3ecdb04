// The blocks that every query selects: the first, its own and the one before (docs/nsa.md 5).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa {

/// Distinct, ascending, `count` of them in use. They count inside sel_count.
struct ForcedBlocks {
  std::array<std::int64_t, 3> ids{};
  std::int64_t count = 0;
  bool contains(std::int64_t id) const noexcept {
    return std::find(ids.begin(), ids.begin() + count, id) != ids.begin() + count;
  }
};

/// {0} and {cur - 1, cur} with cur = position / l'.
inline ForcedBlocks forced_blocks(std::int64_t position, const Geometry& g) noexcept {
  const std::int64_t current = position / g.sel_block;
  ForcedBlocks forced;
  for (const std::int64_t id : {std::int64_t{0}, current - 1, current}) {
    if (id >= 0 && !forced.contains(id)) {
      forced.ids[static_cast<std::size_t>(forced.count++)] = id;
    }
  }
  return forced;
}

}  // namespace nsa
