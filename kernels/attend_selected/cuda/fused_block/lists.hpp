// First kernel of `fused_block`: which queries picked a block (lists.cu).
#pragma once

struct CUstream_st;

namespace nsa::cuda {

struct BlockParams;

void launch_block_lists(const BlockParams& p, CUstream_st* stream);

}  // namespace nsa::cuda
