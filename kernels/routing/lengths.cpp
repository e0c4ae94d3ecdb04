#include "lengths.hpp"

#include "nsa/kernels/telemetry.hpp"

namespace nsa::routing {

std::int64_t longest_selected_row(const Problem& p) noexcept {
  std::int64_t longest = 0;
  const std::size_t batch = std::min(p.seq_lens.size(), p.context_lens.size());
  for (std::size_t b = 0; b < batch; ++b) {
    const std::int64_t last = p.context_lens[b] + p.seq_lens[b] - 1;
    // Rows grow within a block, so only the last query and the last full block can be longest.
    const std::int64_t full = (last + 1) / p.geometry.sel_block * p.geometry.sel_block - 1;
    longest = std::max(longest, selected_tokens(last, p.geometry));
    if (full >= p.context_lens[b]) {
      longest = std::max(longest, selected_tokens(full, p.geometry));
    }
  }
  return longest;
}

}  // namespace nsa::routing
