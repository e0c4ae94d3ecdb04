// A problem class in one line.
#include "nsa/schemas/problem.hpp"

namespace nsa {

std::string to_string(const ProblemClass& c) {
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const Geometry& g = c.geometry;
  std::string text{to_string(c.direction)};
  text.append(" ").append(to_string(c.phase)).append(" ").append(to_string(c.dtype));
  text += " " + number(c.q_heads) + "/" + number(c.kv_heads) + " heads " + number(c.head_dim_k) +
          "/" + number(c.head_dim_v) + " l" + number(g.cmp_block) + " d" + number(g.cmp_stride) +
          " l'" + number(g.sel_block) + " n" + number(g.sel_count) + " w" + number(g.window);
  text.append(" batch ").append(to_string(c.batch_bin));
  return text.append(" overlap ").append(to_string(c.overlap_bin));
}

}  // namespace nsa
