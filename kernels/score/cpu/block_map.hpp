// p_cmp -> p_slc: a compressed block gives its weight to the selection blocks that it overlaps, by
// the share of its l tokens (equation 9, normalised).
#pragma once

#include <algorithm>
#include <cstdint>

#include "nsa/schemas/problem.hpp"

namespace nsa::score {

/// Adds `count` weights of compressed blocks first, first + 1, ... to scores[selection block].
template <class T>
void add_block_scores(const T* p, std::int64_t first, std::int64_t count, const Geometry& g,
                      T* scores) {
  const T share = T{1} / static_cast<T>(g.cmp_block);
  std::int64_t begin = first * g.cmp_stride, block = begin / g.sel_block;
  std::int64_t block_end = (block + 1) * g.sel_block;
  for (std::int64_t i = 0; i < count; ++i, begin += g.cmp_stride) {
    // d divides l', so the next begin is in this block or the next; a division would cost more than
    // all the rest.
    if (begin == block_end) ++block, block_end += g.sel_block;
    const std::int64_t end = begin + g.cmp_block;
    if (end <= block_end) {  // inside one block
      scores[block] += p[i];
      continue;
    }
    std::int64_t from = begin, to = block_end;
    for (std::int64_t j = block; from < end; ++j) {
      scores[j] += p[i] * (static_cast<T>(to - from) * share);
      from = to;
      to = std::min(end, to + g.sel_block);
    }
  }
}

}  // namespace nsa::score
