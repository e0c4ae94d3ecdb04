#include <algorithm>

#include "decode/step.hpp"
#include "decode/step_layout.hpp"

namespace nsa::decode {

Support supports_step(const Problem& p, const Device& device) noexcept {
  const int capability = device.compute_capability.value_or(0);
  if (capability != 90)
    return Support::no("its clusters of blocks are built for compute capability 9.0, ", device.id,
                       " has ", capability);
  if (p.phase != Phase::decode || p.total_tokens() != p.batch())
    return Support::no("a decode step has one new token in each sequence");
  if (std::max(p.head_dim_k, p.head_dim_v) > cuda::kMaxHeadDim)
    return Support::no("head dims over 256 do not fit its registers");
  if (p.geometry.sel_block < 2 || p.geometry.sel_count * p.geometry.sel_block > 0xffff)
    return Support::no("built for sel_block from 2 on and less than 65,536 selected tokens");
  if (p.batch() * p.kv_heads > (1 << 20))
    return Support::no("more than 2^20 pairs of sequence and KV head do not fit one launch");
  if (ranks_of(p) == 0)
    return Support::no("the logits of ", p.max_kv_len(),
                       " tokens do not fit the shared memory of a cluster");
  return Support::yes();
}

}  // namespace nsa::decode
