#include "reads.hpp"

#include <algorithm>

namespace nsa::cli {

Reads reads_of(const RunPlan& plan, unsigned branches) {
  const std::int64_t tokens = plan.seq_len;
  if (plan.config.attention == AttentionKind::dense) return {tokens, tokens, false};
  const Geometry& g = plan.config.geometry;
  Reads reads{.selects = (branches & 2u) != 0};
  if (branches & 1u) {
    reads.predicted += num_compressed(tokens, g);
    reads.actual += num_compressed(tokens, g);
  }
  if (branches & 2u) {
    reads.predicted += g.sel_count * g.sel_block;
    reads.actual += selected_tokens(tokens - 1, g);
  }
  if (branches & 4u) {
    reads.predicted += std::min(g.window, tokens);
    reads.actual += std::min(g.window, tokens);
  }
  return reads;
}

}  // namespace nsa::cli
