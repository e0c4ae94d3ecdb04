#include "decode/step_layout.hpp"

#include <algorithm>

namespace nsa::decode {
namespace {

using cuda::step::Layout;

constexpr std::int64_t kSharedBytes = 227 * 1024;  // of a block, compute capability 9.0
constexpr std::int64_t kChipBlocks = 264;  // two for each SM of an H200: more ranks wait in line

std::int64_t divided(std::int64_t n, std::int64_t by) { return (n + by - 1) / by; }

}  // namespace

Layout layout_of(const Problem& p, int ranks) {
  const Geometry& g = p.geometry;
  const auto rounded = [](std::int64_t n, std::int64_t to) { return divided(n, to) * to; };
  const std::int64_t share = rounded(divided(p.max_compressed(), ranks), cuda::step::kRowsAtOnce);
  const std::int64_t window = divided(std::min(g.window, p.max_kv_len()), ranks);
  const std::int64_t selected = divided(g.sel_count, ranks) * g.sel_block;
  Layout layout{};
  layout.ranks = ranks;
  layout.share = static_cast<int>(share);
  layout.keys = static_cast<int>(rounded(std::max({share, window, selected}), 16));  // whole tiles
  layout.blocks = static_cast<int>(num_blocks(p.max_kv_len(), g));
  layout.padded_dk = static_cast<int>(rounded(p.head_dim_k, cuda::step::kColumns));
  layout.dv = static_cast<int>(p.head_dim_v);
  layout.group = static_cast<int>(p.heads_per_group());
  layout.hidden = static_cast<int>(std::max<std::int64_t>(1, p.head_dim_k / 2));
  layout.sel_count = static_cast<int>(g.sel_count);
  return layout;
}

int ranks_of(const Problem& p) {
  int ranks = 2;
  while (ranks < cuda::step::kMostRanks && 2 * ranks * p.batch() * p.kv_heads <= kChipBlocks) {
    ranks *= 2;
  }
  while (ranks <= cuda::step::kMostRanks) {
    if (cuda::step::shared_bytes(layout_of(p, ranks)) <= kSharedBytes) return ranks;
    ranks *= 2;
  }
  return 0;
}

}  // namespace nsa::decode
