// Tokens that one query reads: by the published formula, and truly (docs/nsa.md 10).
#include <algorithm>

#include "nsa/kernels/telemetry.hpp"

namespace nsa {

std::int64_t reads_pred(std::int64_t tokens, const Geometry& g) noexcept {
  return num_compressed(tokens, g) + g.sel_count * g.sel_block + std::min(g.window, tokens);
}

std::int64_t reads_act(std::int64_t tokens, const Geometry& g) noexcept {
  if (tokens <= 0) return 0;
  return num_compressed(tokens, g) + selected_tokens(tokens - 1, g) + std::min(g.window, tokens);
}

std::int64_t reads_pred(const Problem& p) noexcept {
  return reads_pred(p.max_kv_len(), p.geometry);
}

std::int64_t reads_act(const Problem& p) noexcept { return reads_act(p.max_kv_len(), p.geometry); }

std::int64_t selected_tokens(std::int64_t position, const Geometry& g) noexcept {
  const std::int64_t current = position / g.sel_block;
  if (current < g.sel_count) return position + 1;
  return g.sel_count * g.sel_block - (g.sel_block - 1 - position % g.sel_block);
}

}  // namespace nsa
