#include <algorithm>

#include "decode/step.hpp"
#include "decode/step_layout.hpp"

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

Support supports_step(const Problem& p, const Device& device) {
  const int capability = device.compute_capability.value_or(0);
  if (capability != 90)
    return Support::no("its clusters of blocks are built for compute capability 9.0, " + device.id +
                       " has " + std::to_string(capability));
  if (p.phase != Phase::decode || p.total_tokens() != p.batch())
    return Support::no("a decode step has one new token in each sequence");
  if (std::max(p.head_dim_k, p.head_dim_v) > cuda::kMaxHeadDim)
    return Support::no("head dims over 256 do not fit its registers");
  if (p.geometry.sel_block < 2 || p.geometry.sel_count * p.geometry.sel_block > 0xffff)
    return Support::no("built for sel_block from 2 on and less than 65,536 selected tokens");
  if (p.batch() * p.kv_heads > (1 << 20))
    return Support::no("more than 2^20 pairs of sequence and KV head do not fit one launch");
  if (ranks_of(p) == 0)
    return Support::no("the logits of " + std::to_string(p.max_kv_len()) +
                       " tokens do not fit the shared memory of a cluster");
  return Support::yes();
}

}  // namespace nsa::decode
