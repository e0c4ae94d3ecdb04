// Block ids to token ranges: [start, end) pairs, disjoint, ascending, none beyond the query.
#include <algorithm>

#include "nsa/kernels/inputs.hpp"

namespace nsa {

void blocks_to_ranges(const Geometry& geometry, std::int64_t position, std::int64_t seq_blocks,
                      const std::int32_t* blocks, std::int32_t* ranges) {
  std::fill_n(ranges, 2 * geometry.sel_count, 0);
  std::int32_t* next = ranges;  // where the next pair goes
  std::int64_t last_id = -1;
  for (std::int64_t k = 0; k < geometry.sel_count; ++k) {
    const std::int64_t id = blocks[k];
    if (id < 0 || id >= seq_blocks || id == last_id) continue;
    const std::int64_t start = id * geometry.sel_block;
    const std::int64_t end = std::min(start + geometry.sel_block, position + 1);
    if (end <= start) continue;  // it lies in the query's future
    last_id = id;
    if (next != ranges && next[-1] == start) {
      next[-1] = static_cast<std::int32_t>(end);  // goes on where the previous pair ended
    } else {
      *next++ = static_cast<std::int32_t>(start);
      *next++ = static_cast<std::int32_t>(end);
    }
  }
}

}  // namespace nsa
