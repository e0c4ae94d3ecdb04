#include "cuda/flash/band_support.hpp"

#include <algorithm>

#include "cuda/flash/tile_sizes.hpp"

namespace nsa::cuda {

Support fits_shared_memory(std::int64_t bytes, const Device& device) noexcept {
  const std::int64_t room = shared_bytes_per_block(device.compute_capability.value_or(0));
  if (bytes <= room) return Support::yes();
  return Support::no("needs ", bytes, " bytes of shared memory a block, ", device.id, " has ",
                     room);
}

Support supports_band(const Problem& p, const Device& device) noexcept {
  constexpr std::int64_t kLargestDim = 256, kMostRows = 0x7fffffff;
  if (p.head_dim_k > kLargestDim || p.head_dim_v > kLargestDim)
    return Support::no("head dims over 256 do not fit its tiles");
  if (p.total_tokens() * p.q_heads > kMostRows)
    return Support::no("more than 2^31 rows do not fit one launch; split the batch");
  const std::int64_t width = padded_width(p.head_dim_v);
  const std::int64_t bytes =
      std::max(tile_bytes(masked_sizes(p.dtype), p.head_dim_k, width),
               tile_bytes(gather_sizes(p.dtype, width), p.head_dim_k, width));
  return fits_shared_memory(bytes, device);
}

Variant band_row(Variant row) {
  row.name = "fused";
  row.supports = supports_band;
  row.rank = 0;
  return row;
}

}  // namespace nsa::cuda
