#include "cuda/backward/tile.hpp"
#include "cuda/flash/band_support.hpp"

namespace nsa::cuda {

Support supports_backward(const Problem& p, const Device& device) noexcept {
  if (p.head_dim_k > kMaxBackwardDim || p.head_dim_v > kMaxBackwardDim)
    return Support::no("head dims over 256 do not fit its tiles");
  if (p.heads_per_group() > 16)
    return Support::no("more than 16 query heads per KV head do not fit its tiles");
  if (p.total_tokens() * p.q_heads > 0x7fffffff)
    return Support::no("more than 2^31 rows do not fit one launch; split the batch");
  return fits_shared_memory(backward_tile(p).shared_bytes, device);
}

}  // namespace nsa::cuda
