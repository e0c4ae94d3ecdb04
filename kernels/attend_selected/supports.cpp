#include "attend_selected/supports.hpp"

#include <algorithm>

#include "attend_selected/cuda/fused_block/plan.hpp"
#include "attend_selected/cuda/packed_rows/plan.hpp"
#include "catalog/cost.hpp"
#include "catalog/rows.hpp"
#include "cuda/flash/band_support.hpp"
#include "cuda/flash/tile_sizes.hpp"

namespace nsa::attend_selected {
namespace {

constexpr std::int64_t kMaxHeadDim = 256, kMaxGroup = 16;
constexpr std::int64_t kAlignment = 256;  // of each tensor in the workspace

Support fits_sizes(const Problem& p) noexcept {
  if (p.head_dim_k > kMaxHeadDim || p.head_dim_v > kMaxHeadDim)
    return Support::no("head dims over 256 do not fit its tiles");
  if (p.heads_per_group() > kMaxGroup)
    return Support::no("more than 16 query heads per KV head do not fit its tile of 16 rows");
  if (p.total_tokens() * p.q_heads > 0x7fffffff)
    return Support::no("more than 2^31 rows do not fit one launch; split the batch");
  return Support::yes();
}

std::int64_t expanded_bytes(const Problem& p) {
  return p.total_context() * p.q_heads * cuda::packed_key_bytes(p);
}

}  // namespace

std::int64_t masked_shared_bytes(const Problem& p) noexcept {
  const cuda::TileSizes t = cuda::masked_sizes(p.dtype);
  return cuda::tile_bytes(t, p.head_dim_k, cuda::padded_width(p.head_dim_v)) + t.rows * 8;
}
std::int64_t gather_shared_bytes(const Problem& p) noexcept {
  const std::int64_t width = cuda::padded_width(p.head_dim_v);
  const cuda::TileSizes t = cuda::gather_sizes(p.dtype, width);
  return cuda::tile_bytes(t, p.head_dim_k, width) + 4 * (t.keys + 2 * p.geometry.sel_count);
}

Support supports_masked(const Problem& p, const Device& device) noexcept {
  const Support sizes = fits_sizes(p);
  return sizes.supported ? cuda::fits_shared_memory(masked_shared_bytes(p), device) : sizes;
}
Support supports_gather(const Problem& p, const Device& device) noexcept {
  const Support sizes = fits_sizes(p);
  return sizes.supported ? cuda::fits_shared_memory(gather_shared_bytes(p), device) : sizes;
}
Support supports_ranges(const Problem& p, const Device&) noexcept { return fits_sizes(p); }
Support supports_dense_prefix(const Problem& p, const Device& device) noexcept {
  const Support band = cuda::supports_band(p, device);
  return band.supported ? supports_gather(p, device) : band;
}

Support supports_fused_block(const Problem& p, const Device& device) noexcept {
  const Support hopper = needs_hopper(device);
  if (!hopper.supported) return hopper;
  if (p.head_dim_k != p.head_dim_v || (p.head_dim_k != 64 && p.head_dim_k != 128))
    return Support::no("built for head dims of 64 and of 128");
  if (p.geometry.sel_block != 64) return Support::no("built for sel_block 64");
  if (p.geometry.sel_count > cuda::kMaxBlockPicks)
    return Support::no("more than 32 blocks of a query do not fit a warp");
  if (p.batch() * num_blocks(p.max_kv_len(), p.geometry) > cuda::kMaxBlockTable)
    return Support::no("more than 16,384 blocks in a batch do not fit its counters");
  return supports_gather(p, device);
}

std::int64_t ranges_workspace(const Problem& p) {
  return cuda::row_key_bound(p) * cuda::packed_key_bytes(p) + 2 * kAlignment;
}
std::int64_t fused_block_workspace(const Problem& p) {
  std::int64_t most = 0;
  for (const std::int64_t chunk : cuda::kQueryChunks)
    most = std::max(most, cuda::BlockPlan(p, chunk).bytes());
  return most;
}
std::int64_t dense_prefix_workspace(const Problem& p) {
  return 2 * p.batch() * static_cast<std::int64_t>(sizeof(Sequence)) + kAlignment;
}
std::int64_t expanded_workspace(const Problem& p) { return expanded_bytes(p) + 2 * kAlignment; }

Cost expanded_cost(const Problem& p) {
  Cost cost = attend_selected_cost(p);
  cost.bytes += 2.0 * static_cast<double>(expanded_bytes(p));
  return cost;
}

}  // namespace nsa::attend_selected
