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
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = (first + i) * g.cmp_stride, end = begin + g.cmp_block;
    std::int64_t j = begin / g.sel_block, from = begin;
    if (end <= (j + 1) * g.sel_block) {  // inside one block
      scores[j] += p[i];
      continue;
    }
    for (; from < end; ++j) {
      const std::int64_t to = std::min(end, (j + 1) * g.sel_block);
      scores[j] += p[i] * (static_cast<T>(to - from) * share);
      from = to;
    }
  }
}

}  // namespace nsa::score
